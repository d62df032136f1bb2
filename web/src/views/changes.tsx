/** The live feed: operations as they come, with before and after, and undo. */
import { useEffect, useRef, useState } from "preact/hooks";
import { address, call, type Schemas } from "../api/client";
import { many } from "../format";
import { Act, Empty, Loading, Trouble } from "../parts/common";
import { Operations } from "../parts/operations";
import { useSession } from "../session";
import { changed, go, useLoad, usePlace } from "../state";

const PAGE = 30;
const WAYS = ["rest", "mcp", "cli", "worker", "sql"] as const;
const SETTLE = 400;
const RETRY = 3000;

/** Calls back for changes as they come. False: the stream broke, and is opened again. */
function useFeed(namespace: string, changes: () => void): boolean {
  const [open, set] = useState(true);
  const call = useRef(changes);
  call.current = changes;
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let settle = 0;
    const listen = async () => {
      const url = address("/api/v1/events");
      url.searchParams.set("after", "latest");
      const reply = await fetch(url, { headers: { "X-Namespace": namespace }, signal: stop.signal });
      if (!reply.ok || !reply.body) throw new Error(String(reply.status));
      set(true);
      const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) throw new Error("ended");
        if (!/^data:/m.test(value)) continue;
        clearTimeout(settle);
        settle = window.setTimeout(() => call.current(), SETTLE);
      }
    };
    const again = () => {
      listen().catch(() => {
        if (stop.signal.aborted) return;
        set(false);
        timer = window.setTimeout(again, RETRY);
      });
    };
    again();
    return () => {
      stop.abort();
      clearTimeout(timer);
      clearTimeout(settle);
    };
  }, [namespace]);
  return open;
}

export function Changes() {
  const { params } = usePlace();
  const session = useSession();
  const { namespace } = session;
  const way = WAYS.find((each) => each === params.get("via"));
  const key = `operations ${namespace} ${way}`;
  const [more, add] = useState<{ key: string; items: Schemas["OperationOut"][]; next: string | null }>({ key: "", items: [], next: null });
  const [paused, pause] = useState(false);
  const [missed, miss] = useState(0);
  const first = useLoad(key, (signal) => call("get", "/api/v1/operations", { query: { limit: PAGE, via: way }, namespace, signal }));
  const refresh = () => {
    miss(0);
    first.reload();
    session.reload();
  };
  const open = useFeed(namespace, () => (paused ? miss((n) => n + 1) : refresh()));
  const added = more.key === key ? more : null;
  const seen = new Set((first.data?.items ?? []).map((each) => each.id));
  const items = [...(first.data?.items ?? []), ...(added?.items ?? []).filter((each) => !seen.has(each.id))];
  const next = added ? added.next : first.data?.next_cursor;
  const load = async () => {
    const page = await call("get", "/api/v1/operations", { query: { limit: PAGE, via: way, cursor: next! }, namespace });
    add({ key, items: [...(added?.items ?? []), ...page.items], next: page.next_cursor });
  };
  return (
    <div class="changes">
      <h1>Changes</h1>
      <div class="bar-line">
        <label class="size">
          Through
          <select value={way ?? ""} onChange={(event) => go(changed({ via: event.currentTarget.value || null }))}>
            <option value="">anything</option>
            {WAYS.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <button
          type="button"
          aria-pressed={paused}
          onClick={() => {
            pause(!paused);
            if (paused) refresh();
          }}
        >
          {paused ? (missed ? `Resume (${missed} missed)` : "Resume") : "Pause"}
        </button>
        <p class="quiet live" role="status">
          <span class={`dot ${open && !paused ? "on" : "off"}`} aria-hidden="true" />
          {paused ? "paused" : open ? "live" : "The feed broke off; opening it again."}
        </p>
      </div>
      <Trouble error={first.error} />
      {!first.data && !first.error && <Loading what="Reading the log…" />}
      {first.data && !items.length && <Empty>Nothing was changed {way ? `through ${way}` : "here"} yet.</Empty>}
      <Operations items={items} reload={refresh} open={params.get("id")} />
      {next && (
        <Act run={load} class="more">
          Show more
        </Act>
      )}
      <p class="quiet">{many(items.length, "operation")} shown, newest first.</p>
    </div>
  );
}
