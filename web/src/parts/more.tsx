/** Lists of any length: pages of a listing, joined as they are asked for. */
import type { ComponentChild } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useLoad, type Loaded } from "../state";
import { Act } from "./common";

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

/** The items of a listing. `read` reads the page after a cursor; `shown` is how many there are by then; `reload` reads the first page again, and keeps what was added. */
export function usePages<T extends { id: string }>(key: string, read: (cursor: string | undefined, signal?: AbortSignal, shown?: number) => Promise<Page<T>>): Listed<T> {
  const [added, add] = useState<{ key: string; items: T[]; next: string | null }>({ key: "", items: [], next: null });
  const first = useLoad(key, (signal) => read(undefined, signal));
  const known = added.key === key ? added : null;
  const seen = new Set((first.data?.items ?? []).map((each) => each.id));
  const items = [...(first.data?.items ?? []), ...(known?.items ?? []).filter((each) => !seen.has(each.id))];
  const next = known ? known.next : first.data?.next_cursor;
  const load = async () => {
    const page = await read(next!, undefined, items.length);
    add({ key, items: [...(known?.items ?? []), ...page.items], next: page.next_cursor });
  };
  const more = next ? (
    <Act run={load} class="more">
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
