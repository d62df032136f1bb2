/** The two times of the whole page: what was true at a moment, as it was believed at another. */
import { useEffect, useRef, useState } from "preact/hooks";
import { quietly } from "../api/client";
import { DAY, when } from "../format";
import { useSession } from "../session";
import { changed, go, times, useLoad, usePlace } from "../state";

const STEPS = 1000;
const AHEAD = 90 * DAY;
const FAR = 240 * DAY; // relations fade in months
const SETTLE = 160; // ms without a move after which the page follows: at most one request a stop
const MOST = 200;

export function toNow(): void {
  go(changed({ as_of: null, known_at: null }));
}

function isField(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input:not([type=range]), textarea, select, dialog") !== null;
}

/** Moments of the namespace at which something began or ended, and at which something was written. */
function useMarks(namespace: string): { valid: number[]; recorded: number[] } {
  const all = useLoad(`marks ${namespace}`, (signal) =>
    quietly("get", "/api/v1/memories", { query: { limit: MOST, all_versions: true }, namespace, signal }),
  );
  const valid = new Set<number>();
  const recorded = new Set<number>();
  for (const each of all.data?.items ?? []) {
    valid.add(Date.parse(each.valid_from));
    if (each.valid_to) valid.add(Date.parse(each.valid_to));
    recorded.add(Math.ceil(Date.parse(each.recorded_at) / 1000) * 1000);
    if (each.superseded_at) recorded.add(Math.ceil(Date.parse(each.superseded_at) / 1000) * 1000);
  }
  const ordered = (from: Set<number>) => [...from].filter((n) => !Number.isNaN(n)).sort((a, b) => a - b);
  return { valid: ordered(valid), recorded: ordered(recorded) };
}

export function TimeBar() {
  const place = usePlace();
  const { namespace } = useSession();
  const now = times(place);
  const marks = useMarks(namespace);
  const past = now.as_of !== null || now.known_at !== null;
  useEffect(() => {
    const hear = (event: KeyboardEvent) => {
      if (event.key === "n" && !event.metaKey && !event.ctrlKey && !event.altKey && !isField(event.target)) toNow();
    };
    addEventListener("keydown", hear);
    return () => removeEventListener("keydown", hear);
  }, []);
  const shown = place.view === "constellation" || place.view === "ask" || place.view === "memory" || place.view === "map" || place.view === "tree" || past;
  if (!shown) return null;
  const today = Date.now();
  const first = (from: number[]) => Math.min(from[0] ?? today - 365 * DAY, today - 7 * DAY);
  return (
    <section class={`timebar${past ? " past" : ""}`} aria-label="Moment that the page shows">
      <Slider name="as_of" label="True at" value={now.as_of} marks={marks.valid} from={first(marks.valid)} to={Math.max(today, marks.valid.at(-1) ?? 0) + (place.view === "constellation" ? FAR : AHEAD)} />
      <Slider name="known_at" label="As known at" value={now.known_at} marks={marks.recorded} from={Math.min(marks.recorded[0] ?? today - 7 * DAY, today - DAY) - DAY / 24} to={today} />
      <button type="button" class="small" disabled={!past} onClick={toNow} title="Back to now (n)" aria-keyshortcuts="n">
        Now <kbd>n</kbd>
      </button>
    </section>
  );
}

interface SliderProps {
  name: "as_of" | "known_at";
  label: string;
  value: string | null;
  marks: number[];
  from: number;
  to: number;
}

function Slider({ name, label, value, marks, from, to }: SliderProps) {
  const [moving, move] = useState<number | null>(null);
  const timer = useRef(0);
  const unset = name === "as_of" ? Date.now() : to;
  const shown = moving ?? (value ? Date.parse(value) : unset);
  const place = (moment: number) => Math.max(0, Math.min(STEPS, (STEPS * (moment - from)) / (to - from)));
  const set = (moment: number | null) => go(changed({ [name]: moment === null ? null : new Date(moment).toISOString().replace(".000Z", "Z") }), { replace: true });
  const slide = (step: number) => {
    const wide = to - from > 60 * DAY;
    const exact = from + (step / STEPS) * (to - from);
    const moment = step >= STEPS && name === "known_at" ? null : wide ? Math.floor(exact / DAY) * DAY : Math.floor(exact / 1000) * 1000;
    move(moment ?? to);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      move(null);
      set(moment);
    }, SETTLE);
  };
  const before = marks.filter((mark) => mark < shown - 1000).at(-1);
  const after = marks.find((mark) => mark > shown + 1000);
  const text = value === null && moving === null ? "now" : when(shown);
  return (
    <div class="slider">
      <label for={`slider-${name}`}>
        {label} <output class={value || moving !== null ? "set" : ""}>{text}</output>
      </label>
      <div class="track">
        <button type="button" class="step" disabled={before === undefined} onClick={() => set(before!)} aria-label={`${label}: the change before`}>
          ‹
        </button>
        <div class="rail">
          <svg class="marks" viewBox={`0 0 ${STEPS} 10`} preserveAspectRatio="none" aria-hidden="true">
            {marks.map((mark) => (
              <line key={mark} x1={place(mark)} x2={place(mark)} y1="0" y2="10" />
            ))}
            {name === "as_of" && <line class="today" x1={place(Date.now())} x2={place(Date.now())} y1="0" y2="10" />}
          </svg>
          <input
            id={`slider-${name}`}
            type="range"
            min="0"
            max={STEPS}
            step="1"
            value={Math.round(place(shown))}
            aria-valuetext={text}
            onInput={(event) => slide(Number(event.currentTarget.value))}
          />
        </div>
        <button type="button" class="step" disabled={after === undefined} onClick={() => set(after!)} aria-label={`${label}: the change after`}>
          ›
        </button>
      </div>
    </div>
  );
}
