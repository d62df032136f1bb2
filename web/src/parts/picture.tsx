/** The picture of two times. A crosshair in it sets both moments of the whole page. */
import { useRef, useState } from "preact/hooks";
import { clock, DAY, dayOf, when } from "../format";
import { changed, go, times, usePlace } from "../state";
import { plain } from "./text";
import { scale, type Belief } from "./twotimes";
import { toNow } from "./timebar";

const LEFT = 86;
const TOP = 10;
const FOOT = 34;
const ROW = 62;
const SIZE = 30; // of a letter, roughly: 6.2 px
const STEP = 10;

interface PictureProps {
  of: Belief[];
  even: boolean;
  chosen: string[];
  choose: (id: string) => void;
}

function useWidth(): [number, (node: Element | null) => void] {
  const [width, set] = useState(720);
  const observer = useRef<ResizeObserver | null>(null);
  const watch = useRef((node: Element | null) => {
    observer.current?.disconnect();
    if (!node) return;
    observer.current = new ResizeObserver(([entry]) => set(Math.round(entry!.contentRect.width)));
    observer.current.observe(node);
  });
  return [width, watch.current];
}

export function Picture({ of, even, chosen, choose }: PictureProps) {
  const place = usePlace();
  const now = times(place);
  const [width, watch] = useWidth();
  const [drag, hold] = useState<{ valid: number; known: number } | null>(null);
  const held = useRef(false); // a click is over before the next drawing
  const svg = useRef<SVGSVGElement>(null);
  const today = Date.now();

  const validTicks = [...new Set(of.flatMap((each) => [each.from, ...(each.to === Infinity ? [] : [each.to])]))].sort((a, b) => a - b);
  const span = Math.max(30 * DAY, (validTicks.at(-1) ?? today) - (validTicks[0] ?? today));
  const end = Math.max(today, validTicks.at(-1) ?? 0) + span * 0.12;
  const knownTicks = [...new Set(of.flatMap((each) => [each.known, ...(each.until === Infinity ? [] : [each.until])]))].sort((a, b) => a - b);
  const height = TOP + FOOT + Math.max(2, knownTicks.length) * ROW;
  const across = scale([(validTicks[0] ?? today) - span * 0.06, ...validTicks, today, end], LEFT, width - 8, even);
  const down = scale([...knownTicks, today + 1], TOP, height - FOOT, even || knownTicks.length < 3);
  const edge = (moment: number) => (moment === Infinity ? width - 8 : across.to(moment));
  const floor = (moment: number) => (moment === Infinity ? height - FOOT : down.to(moment));

  const at = { valid: drag?.valid ?? (now.as_of ? Date.parse(now.as_of) : today), known: drag?.known ?? (now.known_at ? Date.parse(now.known_at) : today) };
  const set = (valid: number, known: number) => {
    const iso = (moment: number) => new Date(Math.floor(moment / 1000) * 1000).toISOString().replace(".000Z", "Z");
    const late = known >= today - 1000;
    go(changed({ as_of: iso(span > 60 * DAY ? Math.floor(valid / DAY) * DAY : valid), known_at: late ? null : iso(known + 999) }), { replace: now.as_of !== null });
  };
  const under = (event: PointerEvent) => {
    const box = svg.current!.getBoundingClientRect();
    return { valid: across.back(event.clientX - box.left), known: down.back(event.clientY - box.top) };
  };
  const press = (event: PointerEvent) => {
    if (event.button) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    held.current = true;
    hold(under(event));
  };
  const move = (event: PointerEvent) => held.current && hold(under(event));
  const release = (event: PointerEvent) => {
    if (!held.current) return;
    held.current = false;
    const { valid, known } = under(event);
    hold(null);
    set(valid, known);
    const hit = of.find((each) => each.from <= valid && valid < each.to && each.known <= known && known < each.until);
    if (hit) choose(hit.memory.id);
  };
  const key = (event: KeyboardEvent) => {
    const x = across.to(at.valid);
    const y = down.to(at.known);
    const moves: Record<string, [number, number]> = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
    const moved = moves[event.key];
    if (event.key === "Escape" || event.key === "Home") toNow();
    else if (moved) set(across.back(x + moved[0]), Math.min(today, down.back(y + moved[1])));
    else return;
    event.preventDefault();
  };
  const x = across.to(at.valid);
  const y = Math.min(height - FOOT, down.to(at.known));
  const past = drag !== null || now.as_of !== null || now.known_at !== null;
  const believed = of.filter((each) => each.until === Infinity).length;
  const letters = (wide: number) => Math.max(0, Math.floor((wide - 16) / 6.4));
  return (
    <div class="picture" ref={watch}>
      <svg ref={svg} width={width} height={height} onPointerDown={press} onPointerMove={move} onPointerUp={release} onPointerCancel={() => {
          held.current = false;
          hold(null);
        }}>
        <title>Versions in two times: when they were true (across) and when that was believed (down)</title>
        <desc>{`${of.length} rectangles; ${believed} are believed now.`}</desc>
        <defs>
          <pattern id="gone" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <line x1="0" x2="0" y1="0" y2="6" />
          </pattern>
        </defs>
        {knownTicks.map((tick, index) => (
          <g key={tick} class="tick">
            <line x1={LEFT} x2={width - 8} y1={down.to(tick)} y2={down.to(tick)} />
            {(index === 0 || down.to(tick) - down.to(knownTicks[index - 1]!) > SIZE) && (
              <text x={LEFT - 8} y={down.to(tick) + 11} text-anchor="end">
                {dayOf(tick)}
                <tspan x={LEFT - 8} dy="13">
                  {clock(tick)}
                </tspan>
              </text>
            )}
          </g>
        ))}
        {of.map((each) => {
          const left = edge(each.from);
          const wide = Math.max(3, edge(each.to) - left);
          const top = floor(each.known);
          const high = Math.max(4, floor(each.until) - top);
          const state = each.until === Infinity ? "believed" : "past";
          const text = plain(each.memory.content);
          const shown = letters(wide);
          return (
            <g key={`${each.memory.id} ${each.from} ${each.to} ${each.known}`} class={`belief ${state}${chosen.includes(each.memory.id) ? " chosen" : ""}`}>
              <title>{`${text}\ntrue ${when(each.from)} – ${each.to === Infinity ? "open" : when(each.to)}\nbelieved from ${when(each.known)} ${each.until === Infinity ? "until now" : `until ${when(each.until)}`}`}</title>
              <rect x={left + 0.5} y={top + 0.5} width={wide - 1} height={high - 1} rx="3" />
              {state === "past" && <rect class="hatch" x={left + 0.5} y={top + 0.5} width={wide - 1} height={high - 1} rx="3" />}
              {shown > 3 && high > 18 && (
                <text x={left + 8} y={top + 18}>
                  {`v${each.memory.version}  `}
                  {text.length > shown - 4 ? `${text.slice(0, Math.max(0, shown - 5))}…` : text}
                </text>
              )}
            </g>
          );
        })}
        <g class="axis">
          <line x1={LEFT} x2={width - 8} y1={height - FOOT} y2={height - FOOT} />
          {validTicks.reduce<{ tick: number; x: number }[]>((kept, tick) => (across.to(tick) - (kept.at(-1)?.x ?? -100) > 78 && across.to(tick) < width - 70 ? [...kept, { tick, x: across.to(tick) }] : kept), []).map((each) => (
            <text key={each.tick} x={each.x} y={height - FOOT + 15}>
              {dayOf(each.tick)}
            </text>
          ))}
          <text class="name" x={width - 8} y={height - 4} text-anchor="end">
            true →
          </text>
          <text class="name" x={LEFT - 8} y={height - FOOT - 4} text-anchor="end">
            known ↓
          </text>
        </g>
        <line class="today" x1={across.to(today)} x2={across.to(today)} y1={TOP} y2={height - FOOT} />
        <g
          class={`cross${past ? " past" : ""}`}
          tabindex={0}
          role="slider"
          aria-label="Crosshair: arrow keys move both moments of the page, Escape goes back to now"
          aria-valuenow={Math.round(at.valid / DAY)}
          aria-valuetext={past ? `true at ${when(at.valid)}, as known at ${when(at.known)}` : "now"}
          onKeyDown={key}
        >
          <line x1={x} x2={x} y1={TOP} y2={height - FOOT} />
          <line x1={LEFT} x2={width - 8} y1={y} y2={y} />
          <circle cx={x} cy={y} r="6" />
        </g>
      </svg>
    </div>
  );
}
