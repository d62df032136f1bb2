/** What the page shows is said by its address alone: view, namespace, the two times, and each view's own. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Fault } from "./api/client";

export type View = "" | "ask" | "memory" | "constellation" | "map" | "tree" | "desk" | "changes";
export type Params = Record<string, string | number | null | undefined>;
const KEPT = ["ns", "as_of", "known_at"];
const listeners = new Set<() => void>();

export interface Place {
  view: View;
  params: URLSearchParams;
}

export const place = (): Place => ({
  view: location.pathname.split("/").pop() as View,
  params: new URLSearchParams(location.search),
});

/** The address of a view, in the same namespace and at the same times unless others are given. */
export function href(view: View, params: Params = {}): string {
  const now = place().params;
  const wanted = new URLSearchParams();
  for (const name of KEPT) {
    const kept = now.get(name);
    if (kept && !(name in params)) wanted.set(name, kept);
  }
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "") wanted.set(name, String(value));
  }
  const query = wanted.toString();
  return `./${view}${query ? `?${query}` : ""}`;
}

/** The address of this view with some parameters changed; null takes one away. */
export function changed(params: Params): string {
  const now = place();
  return href(now.view, { ...Object.fromEntries(now.params), ...params });
}

/** Go somewhere. What only moves a slider takes the place of the entry in the history, so that "back" leads somewhere else. */
export function go(to: string, options: { replace?: boolean } = {}): void {
  if (new URL(to, location.href).href === location.href) return;
  history[options.replace ? "replaceState" : "pushState"](null, "", to);
  for (const each of listeners) each();
}

addEventListener("popstate", () => listeners.forEach((each) => each()));

export function usePlace(): Place {
  const [, again] = useState(0);
  useEffect(() => {
    const each = () => again((n) => n + 1);
    listeners.add(each);
    return () => void listeners.delete(each);
  }, []);
  return place();
}

/** Follow links inside the page without loading it again. */
export function follow(event: MouseEvent): void {
  const link = (event.target as Element).closest?.("a");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.target || link.dataset.out !== undefined) return;
  event.preventDefault();
  go(link.href);
  scrollTo(0, 0);
  document.getElementById("main")?.focus({ preventScroll: true });
}

export interface Times {
  as_of: string | null;
  known_at: string | null;
}
export function times(from: Place = place()): Times {
  return { as_of: moment(from.params.get("as_of")), known_at: moment(from.params.get("known_at")) };
}
/** Moments of an address that nobody can read: what is shown is of now instead, and the page says so. */
export function unread(from: Place): [string, string][] {
  return ["as_of", "known_at"].map((name): [string, string] => [name, from.params.get(name) ?? ""]).filter(([, text]) => text && !moment(text));
}
/** A moment in an address that is none is left out, rather than sent. */
function moment(text: string | null): string | null {
  return text && !Number.isNaN(Date.parse(text)) ? text : null;
}

export interface Loaded<T> {
  data: T | undefined;
  error: Fault | undefined;
  loading: boolean;
  reload: () => void;
}
export const RETRY = 3000;
const LATE = 5000;

let late = 0; // questions and acts that take long
/** Wait for the service; where it takes long, the frame says so until it has answered. */
export function waited<T>(work: Promise<T>, until?: AbortSignal): Promise<T> {
  let over = false;
  const count = (by: 1 | -1) => {
    late += by;
    dispatchEvent(new Event("loci:late"));
  };
  const timer = setTimeout(() => ((over = true), count(1)), LATE);
  const end = () => {
    clearTimeout(timer);
    until?.removeEventListener("abort", end);
    if (over) count(-1);
    over = false;
  };
  until?.addEventListener("abort", end);
  work.then(end, end);
  return work;
}
/** Whether something that was asked for is not here yet after a while. */
export function useLate(): boolean {
  const [, again] = useState(0);
  useEffect(() => {
    const each = () => again((n) => n + 1);
    addEventListener("loci:late", each);
    return () => removeEventListener("loci:late", each);
  }, []);
  return late > 0;
}

/** Tell the frame that a key or a namespace may have ended; whether it may. */
export function missing(fault: Fault): boolean {
  if (fault.status === 401) dispatchEvent(new Event("loci:unauthorized"));
  else if (fault.status === 404 || fault.status === 403) dispatchEvent(new Event("loci:missing"));
  return fault.status === 401 || fault.status === 403 || fault.status === 404;
}

/**
 * What a call returns, again whenever `key` changes. What was there stays until the next is; an absent service is asked again. What
 * answers another key than the last is not looked at; `reload` lets an answer that is on its way come first, however late it is.
 */
export function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, set] = useState<{ data?: T; error?: Fault; loading: boolean; key: string }>({ loading: true, key: "" });
  const [turn, again] = useState(0);
  const latest = useRef(load);
  const going = useRef<"no" | "once" | "twice">("no");
  latest.current = load;
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    going.current = "once";
    set((old) => ({ ...old, loading: true }));
    waited(latest.current(stop.signal), stop.signal)
      .then((data) => !stop.signal.aborted && set({ data, loading: false, key }))
      .catch((error) => {
        if (stop.signal.aborted) return;
        const fault = error instanceof Fault ? error : new Fault(-1, String(error));
        set((old) => ({ data: fault.away || fault.status === 401 ? old.data : undefined, error: fault, loading: false, key }));
        if (!key.startsWith(fault.status === 401 ? "me " : "about ")) missing(fault); // these are what is asked then
        if (fault.away) timer = window.setTimeout(() => again((n) => n + 1), RETRY);
      })
      .finally(() => {
        if (stop.signal.aborted) return;
        if (going.current === "twice") again((n) => n + 1);
        going.current = "no";
      });
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, turn]);
  const reload = () => {
    if (going.current === "no") again((n) => n + 1);
    else going.current = "twice";
  };
  const out = state.error?.status === 401;
  useEffect(() => {
    const each = () => going.current === "no" && again((n) => n + 1);
    if (out) addEventListener("loci:signed-in", each);
    return () => removeEventListener("loci:signed-in", each);
  }, [out]);
  return { data: state.data, error: state.error, loading: state.loading || state.key !== key, reload };
}

/** Something to say to somebody who does not look: read out, and shown for a while. */
export function say(text: string, failed = false): void {
  dispatchEvent(new CustomEvent("loci:say", { detail: { text, failed } }));
}
