/** What a newcomer needs in the first minute: what is here, three things to try, and how to connect an agent. */
import { useState } from "preact/hooks";
import { address, call, type Schemas } from "../api/client";
import { count, DAY, many } from "../format";
import { Copy, Empty, Section, Trouble } from "../parts/common";
import { Operations } from "../parts/operations";
import { Text } from "../parts/text";
import { useSession } from "../session";
import { href, useLoad } from "../state";

const DAYS = 30;
const MOST = 200;
const SHOWN = 5;

export function Home() {
  const session = useSession();
  const { about, namespace } = session;
  const log = useLoad(`log ${namespace}`, (signal) =>
    call("get", "/api/v1/operations", { query: { limit: MOST, since: new Date(Math.floor(Date.now() / DAY - DAYS + 1) * DAY).toISOString() }, namespace, signal }),
  );
  const today = new Date(new Date().setHours(0, 0, 0, 0)).getTime();
  const operations = log.data?.items ?? [];
  const recent = operations.filter((each) => Date.parse(each.started_at) >= today);
  return (
    <div class="home">
      <h1>
        <Text of={namespace} />
      </h1>
      {about?.description && (
        <p class="lede">
          <Text of={about.description} cut={300} />
        </p>
      )}
      <Figures about={about} />
      {about && about.memories === 0 && (
        <Empty>
          <strong>Nothing is remembered here yet.</strong> An agent that is connected below writes the first memory; then it can be asked for, looked through and undone here.
        </Empty>
      )}
      <div class="columns">
        <div>
          <Tries />
          <Section title="Changed today" note={<a href={href("changes")}>all changes</a>}>
            <Trouble error={log.error} />
            {log.data && recent.length === 0 && <p class="quiet">Nothing today.</p>}
            <Operations items={recent.slice(0, SHOWN)} reload={log.reload} />
          </Section>
        </div>
        <div>
          <Growth operations={operations} whole={log.data !== undefined && log.data.next_cursor === null} />
          <Kinds />
        </div>
      </div>
      <Connect />
    </div>
  );
}

function Figures({ about }: { about: Schemas["NamespaceOut"] | undefined }) {
  const pending = about ? about.pending_embeddings + about.pending_names : 0;
  const shown: [string, string][] = about
    ? [
        [count(about.current_memories), `memories true now, of ${many(about.memories, "version")}`],
        [count(about.entities), "entities"],
        [count(about.edges), "relations"],
        [count(pending), pending ? "texts wait for vectors and names" : "texts wait: all is searchable"],
      ]
    : [];
  return (
    <dl class="figures" aria-label="At a glance">
      {shown.map(([value, name]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Changes of each day, by the operations log. */
function Growth({ operations, whole }: { operations: Schemas["OperationOut"][]; whole: boolean }) {
  const last = Math.floor(Date.now() / DAY);
  const days = Array.from({ length: DAYS }, (_, at) => ({ day: last - DAYS + 1 + at, n: 0 }));
  for (const each of operations) {
    const at = Math.floor(Date.parse(each.started_at) / DAY) - days[0]!.day;
    if (days[at]) for (const n of Object.values(each.changes)) days[at].n += n;
  }
  const most = Math.max(1, ...days.map((each) => each.n));
  const all = days.reduce((sum, each) => sum + each.n, 0);
  return (
    <Section title="Growth" note={whole ? `${DAYS} days` : `latest ${MOST} operations`}>
      <svg class="bars" viewBox={`0 0 ${DAYS * 10} 60`} preserveAspectRatio="none" role="img" aria-label={`${many(all, "change")} in ${DAYS} days; ${many(days.at(-1)!.n, "change")} today`}>
        {days.map((each, at) => (
          <rect key={each.day} x={at * 10 + 1} width="8" y={60 - Math.max(each.n ? 2 : 0.5, (58 * each.n) / most)} height={Math.max(each.n ? 2 : 0.5, (58 * each.n) / most)} class={each.n ? "" : "none"} />
        ))}
      </svg>
      <p class="quiet scale">
        <span>{DAYS} days ago</span>
        <span>{many(all, "change")}</span>
        <span>today</span>
      </p>
    </Section>
  );
}

function Kinds() {
  const { namespace } = useSession();
  const found = useLoad(`kinds ${namespace}`, (signal) => call("get", "/api/v1/categories", { namespace, signal }));
  const top = (found.data?.items ?? []).filter((each) => !each.category.includes("/")).sort((a, b) => b.total - a.total);
  const most = top[0]?.total ?? 1;
  return (
    <Section title="Kinds" note={many(top.length, "category", "categories")}>
      <Trouble error={found.error} />
      <ul class="kinds">
        {top.slice(0, 8).map((each) => (
          <li key={each.category}>
            <a href={href("memory", { category: each.category })}>
              <Text of={each.category} cut={40} />
            </a>
            <span class="bar" style={{ "--share": String(each.total / most) }} aria-hidden="true" />
            <span class="n">{count(each.total)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** With the demo: its story. Elsewhere: the same three things with what is there. */
function Tries() {
  const { namespace, about } = useSession();
  const found = useLoad(`tries ${namespace} ${about?.memories}`, async (signal) => {
    const [coffee, memories, entities] = await Promise.all([
      call("post", "/api/v1/memories/current", { body: { lineages: ["coffee"] }, namespace, signal }),
      call("get", "/api/v1/memories", { query: { limit: 1 }, namespace, signal }),
      call("get", "/api/v1/entities", { query: { limit: 1 }, namespace, signal }),
    ]);
    return { coffee: coffee.items[0], memory: memories.items[0], entity: entities.items[0] };
  });
  if (!found.data || !about?.memories) return null;
  const { coffee, memory, entity } = found.data;
  const demo = coffee !== undefined && entity !== undefined;
  const asked = demo ? "What does Alice drink?" : `What is known about ${entity?.name ?? "this"}?`;
  return (
    <Section title="Three things to try">
      <ol class="tries">
        <li>
          <a href={href("ask", { q: asked, as_of: demo ? "2023-07-01T00:00:00Z" : null, known_at: null })}>
            {demo ? "What did Alice drink in 2023?" : <Text of={asked} cut={90} />}
          </a>
          <span class="quiet">{demo ? "The answer of then, and why Loci gives it." : "The results that an agent would get, and why."}</span>
        </li>
        <li>
          <a href={href("memory", { id: (coffee ?? memory)?.id, as_of: null, known_at: null })}>{demo ? "See how that changed, correct it, undo it" : "Look at the newest memory in two times"}</a>
          <span class="quiet">When it was true, and when it was believed.</span>
        </li>
        <li>
          <a href={href("constellation", { as_of: new Date(Math.floor(Date.now() / DAY) * DAY + 200 * DAY).toISOString().replace(".000Z", "Z"), known_at: null })}>Watch relations fade over the next months</a>
          <span class="quiet">What nobody confirms loses its confidence.</span>
        </li>
      </ol>
    </Section>
  );
}

const WAYS = ["MCP", "Python", "curl"] as const;
function Connect() {
  const { namespace, me } = useSession();
  const [way, choose] = useState<(typeof WAYS)[number]>("MCP");
  const base = address("/").href.replace(/\/$/, "");
  const keyed = me.kind === "key";
  const header = keyed ? ', "Authorization": "Bearer $LOCI_KEY"' : "";
  const lines = {
    MCP: `{\n  "mcpServers": {\n    "loci": {\n      "type": "http",\n      "url": "${base}/mcp",\n      "headers": {"X-Namespace": "${namespace}"${header}}\n    }\n  }\n}`,
    Python: `from loci import LociClient\n\nclient = LociClient("${base}", namespace="${namespace}")${keyed ? "  # the key is read from LOCI_KEY" : ""}\nclient.write_memory("Alice prefers green tea.", lineage="alice-drink")\nprint(client.recall("What does Alice drink?", k=3).memories)`,
    curl: `curl -s ${base}/api/v1/recall -H 'content-type: application/json' \\\n  -H 'x-namespace: ${namespace}'${keyed ? ' -H "authorization: Bearer $LOCI_KEY"' : ""} \\\n  -d '{"query": "What does Alice drink?", "k": 3}'`,
  };
  return (
    <Section title="Connect an agent">
      <div class="tabs" role="group" aria-label="Way to connect">
        {WAYS.map((each) => (
          <button key={each} type="button" aria-pressed={each === way} onClick={() => choose(each)}>
            {each}
          </button>
        ))}
        <Copy text={lines[way]} label={`Copy the lines for ${way}`} />
      </div>
      <pre class="lines" tabIndex={0} aria-label={`Lines for ${way}`}>
        {lines[way]}
      </pre>
    </Section>
  );
}
