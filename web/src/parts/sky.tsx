/** The constellation, drawn with WebGL. What it shows stands in a table too. */
import { createNodeBorderProgram } from "@sigma/node-border";
import Graph from "graphology";
import { useEffect, useRef, useState } from "preact/hooks";
import Sigma from "sigma";
import { hue } from "./common";
import type { Body, Places } from "./graph";
import { labelling } from "./labels";
import { colours, mix } from "./palette";
import { plain } from "./text";

const LABEL = 40; // letters of a name; SHORT of them in a narrow picture
const SHORT = 18;
const NARROW = 500;
const CROWD = 60;
const TRIES = 20;
const AGAIN = 1000;
const LEAST = 3; // pixels
const WEIGHT = 8; // from there on a star is as large as it is beside the heaviest
const MANY = 200; // of more lines than these, each is paler
const LINES = 900; // the strongest; those of a star that is looked at are drawn besides

interface SkyProps {
  all: Map<string, Body>;
  places: Places;
  types: string[];
  hidden: Set<string>;
  chosen: string | null;
  hovered: string | null;
  along: Set<string> | null;
  choose: (id: string | null) => void;
  hover: (id: string | null) => void;
}

export function SkyPicture({ all, places, types, hidden, chosen, hovered, along, choose, hover }: SkyProps) {
  const box = useRef<HTMLDivElement>(null);
  const sigma = useRef<Sigma | null>(null);
  const [broken, fail] = useState(false);
  const [theme, setTheme] = useState(0);
  const [lost, lose] = useState(0);
  const acts = useRef({ choose, hover });
  acts.current = { choose, hover };

  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const turn = () => setTheme((n) => n + 1);
    dark.addEventListener("change", turn);
    return () => dark.removeEventListener("change", turn);
  }, []);

  useEffect(() => {
    let timer = 0;
    const names = labelling(() => getComputedStyle(box.current!.parentElement!).backgroundColor);
    try {
      const border = createNodeBorderProgram({ borders: [{ size: { value: 0.18 }, color: { attribute: "border" } }, { size: { fill: true }, color: { attribute: "color" } }] });
      const made = new Sigma(new Graph({ multi: true, type: "directed" }), box.current!, {
        defaultNodeType: "body",
        nodeProgramClasses: { body: border },
        defaultEdgeType: "arrow",
        allowInvalidContainer: true,
        enableEdgeEvents: false,
        labelGridCellSize: 80,
        labelRenderedSizeThreshold: 2,
        stagePadding: 36, // room for names at the rim
        defaultDrawNodeLabel: names.name,
        zIndex: true,
        minEdgeThickness: 0.8,
        defaultDrawNodeHover: () => undefined,
      });
      const font = `500 12px ${getComputedStyle(document.body).fontFamily}`;
      made.on("beforeRender", names.begin);
      made.on("afterRender", () => names.end(made, font));
      made.on("clickNode", ({ node }) => acts.current.choose(node));
      made.on("clickStage", () => acts.current.choose(null));
      made.on("enterNode", ({ node }) => acts.current.hover(node));
      made.on("leaveNode", () => acts.current.hover(null));
      sigma.current = made;
      for (const canvas of Object.values(made.getCanvases())) {
        canvas.addEventListener("webglcontextlost", () => sigma.current === made && lose((n) => n + 1)); // drawn anew, in a context of its own
      }
    } catch {
      if (lost === 0 || lost > TRIES) fail(true);
      else timer = window.setTimeout(() => lose((n) => n + 1), AGAIN); // a driver that begins anew takes a moment
    }
    return () => {
      clearTimeout(timer);
      const made = sigma.current;
      sigma.current = null; // killing it loses its contexts, too
      made?.kill();
    };
  }, [lost]);

  useEffect(() => {
    const made = sigma.current;
    if (!made || !box.current) return;
    const { of, canvas } = colours(box.current);
    const graph = made.getGraph();
    const wanted = new Set<string>();
    made.setSetting("labelDensity", all.size > CROWD ? 2 : 4); // names that are tried in each cell
    const scale = Math.min(1, Math.max(0.35, Math.sqrt(60 / all.size))); // of many, each is smaller
    const weight = ({ star, relations }: Body) => Math.sqrt(star.mentions + relations.length / 2);
    const heaviest = Math.max(WEIGHT, ...[...all.values()].map(weight));
    const focus = chosen ?? hovered;
    const near = new Set(focus ? [focus, ...(all.get(focus)?.relations ?? []).filter((each) => !along || along.has(each.id)).flatMap((each) => [each.source, each.target])] : []);
    if (along) for (const body of all.values()) for (const each of body.relations) if (along.has(each.id)) near.add(each.source).add(each.target);
    for (const [id, body] of all) {
      const spot = places.get(id);
      if (!spot || hidden.has(body.star.type)) continue;
      wanted.add(id);
      const dim = focus !== null && !near.has(id) ? 0.18 : 1;
      const colour = of(`--hue-${hue(body.star.type, types)}`);
      const strength = body.state === "alive" ? 0.35 + 0.65 * body.confidence : body.state === "faded" ? 0.6 : 0.28;
      const attributes = {
        ...spot,
        size: Math.max(LEAST, scale * (5 + (2.2 * WEIGHT * weight(body)) / heaviest + (body.star.pinned ? 2 : 0))),
        color: body.state === "alive" ? mix(colour, canvas, strength * dim) : mix(canvas, canvas, 1),
        border: mix(body.star.pinned ? of("--ink") : colour, canvas, strength * dim),
        ink: mix(of("--ink"), canvas, (body.state === "alive" ? 1 : 0.5) * dim),
        label: dim < 1 ? null : shortened(plain(body.star.name), box.current.clientWidth < NARROW ? SHORT : LABEL),
        forceLabel: id === focus || (focus !== null && near.has(id) && near.size < 20),
        zIndex: id === focus ? 2 : body.state === "alive" ? 1 : 0,
      };
      if (graph.hasNode(id)) graph.mergeNodeAttributes(id, attributes);
      else graph.addNode(id, attributes);
    }
    const drawn = new Set<string>();
    const lines = [...new Map([...all.values()].flatMap((body) => body.relations).map((each) => [each.id, each])).values()].sort((a, b) => b.confidence * b.strength - a.confidence * a.strength || (a.id < b.id ? -1 : 1));
    const pale = Math.sqrt(Math.min(1, MANY / Math.min(LINES, lines.length)));
    for (const [nth, each] of lines.entries()) {
      const own = along ? along.has(each.id) : each.source === focus || each.target === focus;
      if ((nth >= LINES && !own) || !wanted.has(each.source) || !wanted.has(each.target)) continue;
      drawn.add(each.id);
      const dim = focus === null ? pale : own ? 1 : 0.2;
      const part = each.state === "alive" ? 0.15 + 0.85 * each.confidence : each.state === "faded" ? 0.22 : 0.05;
      const attributes = { size: each.state === "alive" ? 1 + 2.5 * each.strength * each.confidence : 0.8, color: mix(of("--edge"), canvas, part * dim), zIndex: each.state === "alive" ? 1 : 0 };
      if (graph.hasEdge(each.id)) graph.mergeEdgeAttributes(each.id, attributes);
      else graph.addDirectedEdgeWithKey(each.id, each.source, each.target, attributes);
    }
    graph.forEachEdge((id) => drawn.has(id) || graph.dropEdge(id));
    graph.forEachNode((id) => wanted.has(id) || graph.dropNode(id));
    made.refresh();
  }, [all, places, types, hidden, chosen, hovered, along, theme, lost]);

  useEffect(() => {
    const draw = () => sigma.current?.refresh({ schedule: false }); // what WebGL drew is there until the page is next shown
    addEventListener("loci:draw", draw);
    return () => removeEventListener("loci:draw", draw);
  }, []);
  const zoom = (by: "in" | "out" | "all") => {
    const camera = sigma.current?.getCamera();
    const calm = { duration: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 200 };
    if (by === "in") void camera?.animatedZoom(calm);
    else if (by === "out") void camera?.animatedUnzoom(calm);
    else void camera?.animatedReset(calm);
  };
  if (broken) return <p class="trouble">This browser draws no WebGL. Everything in the picture stands in the table below.</p>;
  return (
    <div class="sky">
      <div class="stars" ref={box} role="img" aria-label={`${all.size} entities and their relations; the table below says the same in words`} data-positions={positions(places)} />
      <div class="zoom">
        <button type="button" class="small" aria-label="Zoom in" onClick={() => zoom("in")}>
          +
        </button>
        <button type="button" class="small" aria-label="Zoom out" onClick={() => zoom("out")}>
          −
        </button>
        <button type="button" class="small" aria-label="Show all" onClick={() => zoom("all")}>
          ⤢
        </button>
      </div>
    </div>
  );
}

const shortened = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Where everything stands, in short: equal if and only if nothing has moved. */
function positions(places: Places): string {
  let sum = 2166136261;
  for (const [id, { x, y }] of [...places].sort(([a], [b]) => (a < b ? -1 : 1))) for (const letter of `${id}${x.toFixed(3)}${y.toFixed(3)}`) sum = Math.imul(sum ^ letter.charCodeAt(0), 16777619);
  return (sum >>> 0).toString(16);
}
