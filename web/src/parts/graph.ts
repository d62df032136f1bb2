/** The constellation as data: what there is, what of it holds at a moment, and where it stands. */
import Graph from "graphology";
import forceAtlas2 from "graphology-layout-forceatlas2";
import type { Schemas } from "../api/client";

export type Star = Schemas["Star"];
export type Line = Schemas["Line"];
export type Edge = Schemas["EdgeOut"];
export type Sky = Schemas["Constellation"];
export type State = "alive" | "faded" | "unborn";

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

const ROUNDS = 240;
const SLICE = 30;
const PALE = 0.35; // of an entity without a living relation

/** Entities and relations at a moment: those of now and of then, each with what it is at that moment. */
export function bodies(base: Sky, then: Sky, edges: Edge[], moment: number): Map<string, Body> {
  const found = new Map<string, Body>();
  const alive = new Map(then.edges.map((each) => [each.id, each]));
  const there = new Set(then.entities.map((each) => each.id));
  for (const star of [...then.entities, ...base.entities]) {
    if (!found.has(star.id)) found.set(star.id, { star, state: there.has(star.id) ? "alive" : "unborn", confidence: 0, relations: [] });
  }
  const known = new Map(edges.map((each) => [each.id, each]));
  const lines = new Map<string, { id: string; source_id: string; target_id: string | null; type: string; strength: number; confidence: number }>();
  for (const each of [...then.edges, ...base.edges, ...edges]) if (!lines.has(each.id)) lines.set(each.id, each);
  for (const line of lines.values()) {
    const source = found.get(line.source_id);
    const target = line.target_id ? found.get(line.target_id) : undefined;
    if (!source || !target || source === target) continue;
    const edge = known.get(line.id);
    const begins = edge ? Date.parse(edge.first_observed_at ?? edge.valid_from) : 0;
    const now = alive.get(line.id);
    const relation: Relation = {
      id: line.id,
      source: line.source_id,
      target: line.target_id!,
      type: line.type,
      strength: line.strength,
      confidence: now?.confidence ?? 0,
      state: now ? "alive" : begins > moment ? "unborn" : "faded",
      begins,
      fades: edge?.fades_at ? Date.parse(edge.fades_at) : null,
    };
    source.relations.push(relation);
    target.relations.push(relation);
  }
  for (const body of found.values()) {
    const living = body.relations.filter((each) => each.state === "alive");
    if (body.state === "alive" && !living.length && body.relations.some((each) => each.state === "faded")) body.state = "faded";
    body.confidence = body.star.pinned ? 1 : Math.max(body.relations.length ? PALE : 1, ...living.map((each) => each.confidence));
  }
  return found;
}

export type Places = Map<string, { x: number; y: number }>;

/** Where everything stands. The same entities and relations always stand at the same places: nothing in it is random. */
export async function arrange(all: Map<string, Body>, known: Places): Promise<Places> {
  const ids = [...all.keys()].sort();
  if (ids.every((id) => known.has(id))) return known;
  const graph = new Graph({ type: "undirected", multi: false });
  ids.forEach((id, at) => {
    const angle = at * 2.399963; // the golden angle: evenly, in a spiral
    const spot = known.get(id) ?? near(all.get(id)!, known) ?? { x: Math.sqrt(at + 1) * Math.cos(angle), y: Math.sqrt(at + 1) * Math.sin(angle) };
    graph.addNode(id, { ...spot, size: 6, fixed: known.has(id) });
  });
  const relations = [...all.values()].flatMap((each) => each.relations).sort((a, b) => (a.id < b.id ? -1 : 1));
  for (const each of relations) if (!graph.hasEdge(each.source, each.target)) graph.addEdge(each.source, each.target, { weight: 0.5 + each.strength });
  const settings = { ...forceAtlas2.inferSettings(graph.order), gravity: 1.2, scalingRatio: 12, linLogMode: false, adjustSizes: false, slowDown: 4, barnesHutOptimize: graph.order > 800 };
  if (known.size === 0) {
    for (let round = 0; round < ROUNDS; round += SLICE) {
      forceAtlas2.assign(graph, { iterations: SLICE, settings, getEdgeWeight: "weight" });
      await new Promise((resolve) => setTimeout(resolve)); // the page stays awake
    }
  }
  const placed: Places = new Map();
  graph.forEachNode((id, { x, y }) => placed.set(id, { x, y }));
  return placed;
}

function near(body: Body, known: Places): { x: number; y: number } | undefined {
  const around = body.relations.map((each) => known.get(each.source === body.star.id ? each.target : each.source)).filter((each) => each !== undefined);
  if (!around.length) return undefined;
  const turn = [...body.star.id].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
  return {
    x: around.reduce((sum, each) => sum + each.x, 0) / around.length + 2 * Math.cos(turn),
    y: around.reduce((sum, each) => sum + each.y, 0) / around.length + 2 * Math.sin(turn),
  };
}
