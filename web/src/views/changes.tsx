/** What changes: operations as they come, jobs, passes of dreams, supersessions, pairs that are not settled, vectors, and calls of language models. */
import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api/client";
import { many } from "../format";
import { Empty, Loading, Trouble } from "../parts/common";
import { Dreams } from "../parts/dreams";
import { useFeed, type Feed } from "../parts/feed";
import { Jobs } from "../parts/jobs";
import { ModelCalls } from "../parts/modelcalls";
import { useAgain, usePages } from "../parts/more";
import { Only } from "../parts/only";
import { Operations } from "../parts/operations";
import { Supersessions } from "../parts/supersessions";
import { Unsettled } from "../parts/unsettled";
import { Vectors } from "../parts/vectors";
import { useSession } from "../session";
import { href, useLoad, usePlace } from "../state";

const PAGE = 30;
const WAYS = ["rest", "mcp", "cli", "worker", "sql"] as const;
/** What a part is given: a number that grows whenever something changes. */
export interface Part {
  turn: number;
}
const PARTS: { part: string; name: string; view: ComponentType<Part> }[] = [
  { part: "", name: "Operations", view: Log },
  { part: "jobs", name: "Jobs", view: Jobs },
  { part: "dreams", name: "Dreams", view: Dreams },
  { part: "supersessions", name: "Supersessions", view: Supersessions },
  { part: "unsettled", name: "Not settled", view: Unsettled },
  { part: "vectors", name: "Vectors", view: Vectors },
  { part: "models", name: "Model calls", view: ModelCalls },
];

export function Changes() {
  const { params } = usePlace();
  const session = useSession();
  const [paused, pause] = useState(false);
  const [turn, next] = useState(0);
  const [missed, miss] = useState(0);
  const refresh = () => {
    miss(0);
    next((n) => n + 1);
    session.reload();
  };
  const feed = useFeed(session.namespace, () => (paused ? miss((n) => n + 1) : refresh()));
  const known = PARTS.find((each) => each.part === (params.get("part") ?? "")) ?? PARTS[0]!;
  return (
    <div class="changes">
      <h1>Changes</h1>
      <div class="bar-line">
        <div class="tabs" role="navigation" aria-label="Parts of changes">
          {PARTS.map((each) => (
            <a key={each.part} class="tab" href={href("changes", { part: each.part || null })} aria-current={each === known ? "page" : undefined}>
              {each.name}
            </a>
          ))}
        </div>
        <button
          type="button"
          class="small"
          aria-pressed={paused}
          onClick={() => {
            pause(!paused);
            if (paused) refresh();
          }}
        >
          {paused ? (missed ? `Resume (${missed} missed)` : "Resume") : "Pause"}
        </button>
        <p class="quiet live" role="status">
          <span class={`dot ${feed === "live" && !paused ? "on" : "off"}`} aria-hidden="true" />
          {paused ? "paused" : SAID[feed]}
        </p>
      </div>
      <known.view key={known.part} turn={turn} />
    </div>
  );
}
const SAID: Record<Feed, string> = { opening: "opening the feed…", live: "live", broken: "The feed broke off; opening it again.", ended: "The feed has ended: the key or the namespace has." };

function Log({ turn }: Part) {
  const { params } = usePlace();
  const { namespace } = useSession();
  const way = WAYS.find((each) => each === params.get("via"));
  const pages = usePages(`operations ${namespace} ${way}`, PAGE, (query, signal) =>
    call("get", "/api/v1/operations", { query: { ...query, via: way }, namespace, signal }),
  );
  useAgain(turn, pages.reload);
  const { first, items } = pages;
  const id = params.get("id");
  const away = first.data !== undefined && id !== null && !items.some((each) => each.id === id);
  return (
    <>
      <div class="bar-line">
        <Only of="Through" param="via" among={WAYS} chosen={way} all="anything" />
      </div>
      <Trouble error={first.error} />
      {!first.data && !first.error && <Loading what="Reading the log…" />}
      {first.data && !items.length && <Empty>Nothing was changed {way ? `through ${way}` : "here"} yet. What an agent or you change comes here by itself, with its undo.</Empty>}
      {away && <Named id={id} reload={pages.reload} />}
      <Operations items={items} reload={pages.reload} open={id} />
      {pages.more}
      <p class="quiet">{many(items.length, "operation")} shown, newest first.</p>
    </>
  );
}

/** An operation that an address names, and that is not on the first page. */
function Named({ id, reload }: { id: string; reload: () => void }) {
  const { namespace } = useSession();
  const found = useLoad(`operation ${id}`, (signal) => call("get", "/api/v1/operations/{id}", { path: { id }, namespace, signal }));
  const again = () => {
    found.reload();
    reload();
  };
  return (
    <>
      <Trouble error={found.error} />
      {found.data && <Operations items={[found.data]} reload={again} open={id} />}
    </>
  );
}

