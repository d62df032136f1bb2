/** Lists of any length: pages of a listing, joined as they are asked for. */
import type { ComponentChild } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useLoad, type Loaded } from "../state";
import { Act } from "./common";

const LONGEST = 1000; // items of a page

interface Page<T> {
  items: T[];
  next_cursor: string | null;
}
export interface Listed<T> {
  items: T[];
  first: Loaded<Page<T>>;
  reload: () => void;
  more: ComponentChild;
}

/**
 * The items of a listing, at first a page of them; "Show more" brings as many as there are. `read` reads those after a cursor. `reload`
 * reads again as many as are shown, and those that are asked for meanwhile.
 */
export function usePages<T extends { id: string }>(key: string, size: number, read: (query: { limit: number; cursor?: string }, signal: AbortSignal) => Promise<Page<T>>): Listed<T> {
  const [added, add] = useState<Page<T> & { to?: Page<T> }>({ items: [], next_cursor: null });
  const wanted = useRef({ key, shown: 0, asked: 0 });
  if (wanted.current.key !== key) wanted.current = { key, shown: 0, asked: 0 };
  const now = wanted.current;
  const first = useLoad(key, async (signal) => {
    const found: Page<T> & { key: string } = { key, items: [], next_cursor: null };
    const left = () => Math.max(now.shown, now.asked) - found.items.length;
    do {
      const page = await read({ limit: Math.min(LONGEST, Math.max(size, left())), cursor: found.next_cursor ?? undefined }, signal);
      found.items = [...found.items, ...page.items];
      found.next_cursor = page.next_cursor;
    } while (found.next_cursor && left() > 0);
    return found;
  });
  const known = added.to && added.to === first.data ? added : null; // else that was read again
  const items = [...new Map([...(first.data?.items ?? []), ...(known?.items ?? [])].map((each) => [each.id, each])).values()];
  const current = first.data?.key === key;
  if (current) now.shown = items.length;
  const stop = useRef(new AbortController());
  useEffect(() => {
    stop.current = new AbortController();
    return () => stop.current.abort();
  }, [key]);
  const next = known ? known.next_cursor : first.data?.next_cursor;
  const load = async () => {
    const { signal } = stop.current;
    const limit = Math.min(LONGEST, items.length);
    now.asked = items.length + limit;
    try {
      const page = await read({ limit, cursor: next! }, signal);
      if (signal.aborted) return;
      now.shown = items.length + page.items.length;
      add({ ...page, items: [...(known?.items ?? []), ...page.items], to: first.data });
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      now.asked = 0;
    }
  };
  const more = next && current ? (
    <Act key={key} run={load} class="more">
      Show more
    </Act>
  ) : null;
  return { items, first, reload: first.reload, more };
}

/** Read again whenever a number has grown. */
export function useAgain(turn: number, reload: () => void): void {
  const last = useRef(turn);
  useEffect(() => {
    if (last.current !== turn) reload();
    last.current = turn;
  }, [turn]);
}

/** Read again every few seconds while something is under way. */
export function useWatch(busy: boolean, reload: () => void, every = 2500): void {
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    if (!busy) return;
    const timer = setInterval(() => document.hidden || latest.current(), every);
    return () => clearInterval(timer);
  }, [busy]);
}
