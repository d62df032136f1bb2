/** The constellation as data: what there is, what of it holds at a moment, and where it stands. */
import type { Schemas } from "../api/client";
import { DAY } from "../format";

export type Star = Schemas["Star"];
export type Sky = Schemas["Constellation"];
export type State = "alive" | "faded" | "unborn";

/** What an edge is worth since a moment; confidence null: it does not hold, restored null: nothing decays, fades Infinity: never. */
interface Step {
  at: number;
  confidence: number | null;
  restored: number | null;
  fades: number;
}
/** An edge at all times. */
export interface Line {
  id: string;
  source_id: string;
  target_id: string;
  type: string;
  strength: number;
  rate: number;
  steps: Step[];
}
export interface Relation {
  id: string;
  source: string;
  target: string;
  type: string;
  strength: number;
  confidence: number;
  state: State;
  begins: number;
  fades: number | null;
}
export interface Body {
  star: Star;
  state: State;
  confidence: number;
  relations: Relation[];
}

const PALE = 0.35; // of an entity without a living relation
const MOST_LOST = 500; // as in loci.effective_confidence: short of underflow

export const linesOf = (sky: Sky): Line[] =>
  (sky.history ?? []).map(({ decay_rate, steps, ...line }) => ({
    ...line,
    rate: decay_rate,
    steps: steps.map((each) => ({ at: Date.parse(each.at), confidence: each.confidence, restored: each.restored_at ? Date.parse(each.restored_at) : null, fades: each.fades_at ? Date.parse(each.fades_at) : Infinity })),
  }));

/** An edge at a moment, by the same formula as the service's: so time can be played without asking it. "over": it holds no more, or not yet again. */
export function worth(line: Line, moment: number): { state: State | "over"; confidence: number } {
  let now: Step | undefined;
  for (const each of line.steps) if (each.at <= moment) now = each;
  if (!now) return { state: "unborn", confidence: 0 };
  if (now.confidence === null) return { state: line.steps.some((each) => each.at <= moment && each.confidence !== null) ? "over" : "unborn", confidence: 0 };
  if (moment >= now.fades) return { state: "faded", confidence: 0 };
  const days = now.restored === null ? 0 : Math.max(0, (moment - now.restored) / DAY);
  return { state: "alive", confidence: now.confidence * Math.exp(-Math.min(line.rate * days, MOST_LOST)) };
}

function relationOf(line: Line, moment: number): Relation | null {
  const { state, confidence } = worth(line, moment);
  if (state === "over") return null;
  const last = line.steps.at(-1)!;
  return { id: line.id, source: line.source_id, target: line.target_id, type: line.type, strength: line.strength, confidence, state, begins: line.steps[0]!.at, fades: last.confidence !== null && Number.isFinite(last.fades) ? last.fades : null };
}

/** Entities and relations at a moment: those that stand out now, and what the service said of that moment, if it has. */
export function bodies(base: Sky, lines: Line[], then: Sky | null, moment: number): Map<string, Body> {
  const found = new Map<string, Body>();
  const there = new Set(then?.entities.map((each) => each.id));
  const born = (star: Star) => (then ? there.has(star.id) : Date.parse(star.first_seen_at) <= moment);
  for (const star of [...(then?.entities ?? []), ...base.entities]) {
    if (!found.has(star.id)) found.set(star.id, { star, state: born(star) ? "alive" : "unborn", confidence: 0, relations: [] });
  }
  const known = new Set(lines.map((each) => each.id));
  const others = (then?.edges ?? base.edges).filter((each) => !known.has(each.id));
  const relations = [
    ...lines.map((each) => relationOf(each, moment)),
    ...others.map(({ source_id, target_id, ...each }): Relation => ({ ...each, source: source_id, target: target_id, state: "alive", begins: 0, fades: null })),
  ];
  for (const relation of relations) {
    if (!relation || relation.source === relation.target) continue;
    const ends = [found.get(relation.source), found.get(relation.target)];
    if (ends[0] && ends[1]) for (const end of ends) end!.relations.push(relation);
  }
  for (const body of found.values()) {
    const living = body.relations.filter((each) => each.state === "alive");
    if (body.state === "alive" && !living.length && body.relations.some((each) => each.state === "faded")) body.state = "faded";
    body.confidence = body.star.pinned ? 1 : Math.max(body.relations.length ? PALE : 1, ...living.map((each) => each.confidence));
  }
  return found;
}

export type Places = Map<string, { x: number; y: number }>;

/** Where everything stands: as the service keeps it, so it is the same after a reload, elsewhere, and at every moment. */
export const placesOf = (all: Map<string, Body>): Places => new Map([...all].map(([id, { star }]) => [id, { x: star.x ?? 0, y: star.y ?? 0 }]));

/** A way from one entity to another: the edges along it, and the product of their confidences. */
export interface Way {
  steps: Schemas["Hop"][];
  score: number;
}

/** Ways between two entities over edges of a walk, the shortest first, at most so many; none goes anywhere twice. */
export function waysBetween(from: string, to: string, edges: Schemas["Hop"][], longest: number, most: number): Way[] {
  const around = new Map<string, Schemas["Hop"][]>();
  for (const each of edges) {
    if (!each.target_id || each.source_id === each.target_id) continue;
    for (const end of [each.source_id, each.target_id]) around.set(end, [...(around.get(end) ?? []), each]);
  }
  const found: Way[] = [];
  let begun: { at: string; been: string[]; steps: Schemas["Hop"][] }[] = [{ at: from, been: [from], steps: [] }];
  for (let length = 1; length <= longest && found.length < most && begun.length; length++) {
    const next: typeof begun = [];
    for (const { at, been, steps } of begun) {
      for (const edge of around.get(at) ?? []) {
        const end = edge.source_id === at ? edge.target_id! : edge.source_id;
        if (been.includes(end)) continue;
        const way = [...steps, edge];
        if (end === to) found.push({ steps: way, score: way.reduce((all, each) => all * each.confidence, 1) });
        else if (next.length < FRONT) next.push({ at: end, been: [...been, end], steps: way });
      }
    }
    begun = next;
  }
  return found.sort((a, b) => a.steps.length - b.steps.length || b.score - a.score).slice(0, most);
}
const FRONT = 20_000; // ways that are followed at once
