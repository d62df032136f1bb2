/** Versions of a memory as rectangles: when it was true, across; when that was believed, down. */
import type { Schemas } from "../api/client";

export type Memory = Schemas["MemoryOut"];
/** One version, for as long as one validity of it was believed. */
export interface Belief {
  memory: Memory;
  from: number;
  to: number; // Infinity: still
  known: number;
  until: number; // Infinity: still believed
}

/** Moments at which the history of a lineage may have changed. */
export function moments(versions: Memory[]): number[] {
  const found = new Set<number>();
  for (const each of versions) {
    for (const iso of [each.recorded_at, each.superseded_at, each.updated_at]) if (iso) found.add(Date.parse(iso));
  }
  return [...found].sort((a, b) => a - b);
}

/** What was believed at each of the moments, joined where it went on unchanged. */
export function beliefs(at: { moment: number; versions: Memory[] }[]): Belief[] {
  const open = new Map<string, Belief>();
  const all: Belief[] = [];
  for (const { moment, versions } of at) {
    const now = new Map<string, Memory>();
    for (const each of versions) {
      const from = Date.parse(each.valid_from);
      const to = each.valid_to ? Date.parse(each.valid_to) : Infinity;
      if (to > from && each.status === "active") now.set(`${each.id} ${from} ${to}`, each);
    }
    for (const [key, belief] of open) {
      if (!now.has(key)) {
        belief.until = moment;
        open.delete(key);
      }
    }
    for (const [key, memory] of now) {
      if (open.has(key)) continue;
      const belief = { memory, from: Date.parse(memory.valid_from), to: memory.valid_to ? Date.parse(memory.valid_to) : Infinity, known: moment, until: Infinity };
      open.set(key, belief);
      all.push(belief);
    }
  }
  return all;
}

/** Places of moments on an axis: evenly, so that each change is seen, or as time passed. */
export function scale(ticks: number[], low: number, high: number, even: boolean): { to: (moment: number) => number; back: (place: number) => number } {
  const known = [...new Set(ticks)].sort((a, b) => a - b);
  const last = known.length - 1;
  const place = (at: number) => (even || known[last] === known[0] ? low + ((high - low) * at) / Math.max(1, last) : low + ((high - low) * (known[at]! - known[0]!)) / (known[last]! - known[0]!));
  const places = known.map((_, at) => place(at));
  const between = (value: number, from: number[], to: number[]): number => {
    if (value <= from[0]!) return to[0]!;
    if (value >= from[last]!) return to[last]!;
    const at = from.findIndex((each) => each > value) - 1;
    return to[at]! + ((to[at + 1]! - to[at]!) * (value - from[at]!)) / (from[at + 1]! - from[at]!);
  };
  return { to: (moment) => between(moment, known, places), back: (at) => between(at, places, known) };
}
