/** The constellation, drawn with WebGL. What it shows stands in a table too. */
import { createNodeBorderProgram } from "@sigma/node-border";
import Graph from "graphology";
import { useEffect, useRef, useState } from "preact/hooks";
import Sigma from "sigma";
import { hue, HUES } from "./common";
import type { Body, Places } from "./graph";
import { plain } from "./text";

type Rgb = [number, number, number];
const LABEL = 40;

function colours(element: Element): { of: (name: string) => Rgb; canvas: Rgb } {
  const probe = element.appendChild(document.createElement("i"));
  const known = new Map<string, Rgb>();
  const of = (name: string): Rgb => {
    const found = known.get(name);
    if (found) return found;
    probe.style.color = `var(${name})`; // the browser works out what it means in this theme
    const made = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number) as Rgb;
    known.set(name, made);
    return made;
  };
  const names = ["--ground", "--ink", "--edge", ...Array.from({ length: HUES }, (_, at) => `--hue-${at}`)];
  names.forEach(of);
  probe.remove();
  return { of, canvas: of("--ground") };
}
const mix = (colour: Rgb, ground: Rgb, part: number): string => {
  const at = (index: 0 | 1 | 2) => Math.round(ground[index] + (colour[index] - ground[index]) * part);
  return `#${[at(0), at(1), at(2)].map((each) => each.toString(16).padStart(2, "0")).join("")}`;
};

interface SkyProps {
  all: Map<string, Body>;
  places: Places;
  types: string[];
  hidden: Set<string>;
  chosen: string | null;
  hovered: string | null;
  choose: (id: string | null) => void;
  hover: (id: string | null) => void;
}

export function SkyPicture({ all, places, types, hidden, chosen, hovered, choose, hover }: SkyProps) {
  const box = useRef<HTMLDivElement>(null);
  const sigma = useRef<Sigma | null>(null);
  const [broken, fail] = useState(false);
  const [theme, setTheme] = useState(0);
  const acts = useRef({ choose, hover });
  acts.current = { choose, hover };

  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const turn = () => setTheme((n) => n + 1);
    dark.addEventListener("change", turn);
    return () => dark.removeEventListener("change", turn);
  }, []);

  useEffect(() => {
    try {
      const border = createNodeBorderProgram({ borders: [{ size: { value: 0.18 }, color: { attribute: "border" } }, { size: { fill: true }, color: { attribute: "color" } }] });
      const made = new Sigma(new Graph({ multi: true, type: "directed" }), box.current!, {
        defaultNodeType: "body",
        nodeProgramClasses: { body: border },
        defaultEdgeType: "arrow",
        allowInvalidContainer: true,
        enableEdgeEvents: false,
        labelDensity: 1.2,
        labelGridCellSize: 80,
        labelRenderedSizeThreshold: 4,
        labelFont: getComputedStyle(document.body).fontFamily,
        labelSize: 12,
        labelWeight: "500",
        labelColor: { attribute: "ink" },
        stagePadding: 36,
        zIndex: true,
        minEdgeThickness: 0.8,
        defaultDrawNodeHover: () => undefined,
      });
      made.on("clickNode", ({ node }) => acts.current.choose(node));
      made.on("clickStage", () => acts.current.choose(null));
      made.on("enterNode", ({ node }) => acts.current.hover(node));
      made.on("leaveNode", () => acts.current.hover(null));
      sigma.current = made;
    } catch {
      fail(true);
    }
    return () => {
      sigma.current?.kill();
      sigma.current = null;
    };
  }, []);

  useEffect(() => {
    const made = sigma.current;
    if (!made || !box.current) return;
    const { of, canvas } = colours(box.current);
    const graph = made.getGraph();
    const wanted = new Set<string>();
    const focus = chosen ?? hovered;
    const near = new Set(focus ? [focus, ...(all.get(focus)?.relations ?? []).flatMap((each) => [each.source, each.target])] : []);
    for (const [id, body] of all) {
      const spot = places.get(id);
      if (!spot || hidden.has(body.star.type)) continue;
      wanted.add(id);
      const dim = focus !== null && !near.has(id) ? 0.18 : 1;
      const colour = of(`--hue-${hue(body.star.type, types)}`);
      const strength = body.state === "alive" ? 0.35 + 0.65 * body.confidence : body.state === "faded" ? 0.6 : 0.28;
      const attributes = {
        ...spot,
        size: 5 + 2.2 * Math.sqrt(body.star.mentions + body.relations.length / 2) + (body.star.pinned ? 2 : 0),
        color: body.state === "alive" ? mix(colour, canvas, strength * dim) : mix(canvas, canvas, 1),
        border: mix(body.star.pinned ? of("--ink") : colour, canvas, strength * dim),
        ink: mix(of("--ink"), canvas, (body.state === "alive" ? 1 : 0.5) * dim),
        label: plain(body.star.name).slice(0, LABEL),
        forceLabel: id === focus || (focus !== null && near.has(id) && near.size < 20),
        zIndex: id === focus ? 2 : body.state === "alive" ? 1 : 0,
      };
      if (graph.hasNode(id)) graph.mergeNodeAttributes(id, attributes);
      else graph.addNode(id, attributes);
    }
    const drawn = new Set<string>();
    for (const body of all.values()) {
      for (const each of body.relations) {
        if (drawn.has(each.id) || !wanted.has(each.source) || !wanted.has(each.target)) continue;
        drawn.add(each.id);
        const dim = focus !== null && each.source !== focus && each.target !== focus ? 0.2 : 1;
        const part = each.state === "alive" ? 0.15 + 0.85 * each.confidence : each.state === "faded" ? 0.22 : 0.05;
        const attributes = { size: each.state === "alive" ? 1 + 2.5 * each.strength * each.confidence : 0.8, color: mix(of("--edge"), canvas, part * dim), zIndex: each.state === "alive" ? 1 : 0 };
        if (graph.hasEdge(each.id)) graph.mergeEdgeAttributes(each.id, attributes);
        else graph.addDirectedEdgeWithKey(each.id, each.source, each.target, attributes);
      }
    }
    graph.forEachEdge((id) => drawn.has(id) || graph.dropEdge(id));
    graph.forEachNode((id) => wanted.has(id) || graph.dropNode(id));
    made.refresh();
  }, [all, places, types, hidden, chosen, hovered, theme]);

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

/** Where everything stands, in short: equal if and only if nothing has moved. */
function positions(places: Places): string {
  let sum = 2166136261;
  for (const [id, { x, y }] of places) for (const letter of `${id}${x.toFixed(3)}${y.toFixed(3)}`) sum = Math.imul(sum ^ letter.charCodeAt(0), 16777619);
  return (sum >>> 0).toString(16);
}
