/** The change feed: calls back when something in the namespace changes. */
import { useEffect, useRef, useState } from "preact/hooks";
import { address, Fault, faultOf } from "../api/client";
import { missing, RETRY } from "../state";

const SETTLE = 400;
export type Feed = "opening" | "live" | "broken" | "ended";

/**
 * Where the stream breaks it is opened again. Each opening counts as a change: of what happened before it the stream says nothing. It
 * ends where the rights do, or the namespace: then the frame says so. Without a key it is not asked for until there is one again.
 */
export function useFeed(namespace: string, changes: () => void): Feed {
  const [state, set] = useState<Feed>("opening");
  const told = useRef(changes);
  told.current = changes;
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let settle = 0;
    const listen = async () => {
      const url = address("/api/v1/events");
      url.searchParams.set("after", "latest");
      const reply = await fetch(url, { headers: { "X-Namespace": namespace }, signal: stop.signal });
      if (!reply.ok || !reply.body) throw await faultOf(reply);
      set("live");
      told.current();
      const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) throw new Error("ended");
        if (!/^data:/m.test(value)) continue;
        settle ||= window.setTimeout(() => {
          settle = 0; // changes that come all the time are shown all the time
          told.current();
        }, SETTLE);
      }
    };
    const again = () => {
      listen().catch((error) => {
        if (stop.signal.aborted) return;
        const gone = error instanceof Fault && missing(error);
        set(gone ? "ended" : "broken");
        if (error instanceof Fault && error.status === 401) addEventListener("loci:signed-in", again, { once: true, signal: stop.signal });
        else timer = window.setTimeout(again, RETRY);
      });
    };
    again();
    return () => {
      stop.abort();
      clearTimeout(timer);
      clearTimeout(settle);
    };
  }, [namespace]);
  return state;
}
