/** What a newcomer needs in the first minute: what is here, three things to try, and how to connect an agent. */
import { useState } from "preact/hooks";
import { address, call, type Schemas } from "../api/client";
import { count, dayOf, many } from "../format";
import { Copy, Empty, Section, Trouble } from "../parts/common";
import { Operations } from "../parts/operations";
import { Text } from "../parts/text";
import { Whichever } from "../parts/unsettled";
import { useSession } from "../session";
import { href, useLoad } from "../state";

const WEEKS = 26;
const MOST = 200;
const SHOWN = 5;

export function Home() {
  const session = useSession();
  const { about, namespace } = session;
  const since = new Date(new Date().setUTCHours(0, 0, 0, 0)).toISOString(); // all times of the page are of UTC
  const [turn, setTurn] = useState(0);
  const log = useLoad(`log ${namespace} ${since}`, (signal) => call("get", "/api/v1/operations", { query: { limit: MOST, since }, namespace, signal }));
  const recent = log.data?.items ?? [];
  const changed = recent.reduce((sum, each) => sum + Object.values(each.changes).reduce((all, n) => all + n, 0), 0);
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
          <Whichever turn={turn} settled={() => setTurn(turn + 1)} />
          <Tries />
          <Section title="Changed today" note={<a href={href("changes")}>all changes</a>}>
            {recent.length > 0 && (
              <p class="quiet">
                {log.data?.next_cursor ? `More than ${many(recent.length, "operation")}` : many(recent.length, "operation")}, {many(changed, "change")}.
              </p>
            )}
            <Trouble error={log.error} />
            {log.data && recent.length === 0 && <p class="quiet">Nothing today.</p>}
            <Operations items={recent.slice(0, SHOWN)} reload={log.reload} />
          </Section>
        </div>
        <div>
          <Growth />
          <Kinds />
          <Pending turn={turn} />
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
        ...(about.cell ? [[count(about.cell), "its cell"] as [string, string]] : []),
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

/** Memories by week. */
function Growth() {
  const { namespace, about } = useSession();
  const found = useLoad(`growth ${namespace} ${about?.memories}`, (signal) =>
    call("get", "/api/v1/namespaces/{name}/growth", { path: { name: namespace }, query: { weeks: WEEKS }, signal }),
  );
  const weeks = found.data?.items ?? [];
  const most = Math.max(1, ...weeks.map((each) => each.written));
  const last = weeks.at(-1);
  return (
    <Section title="Growth" note={`memories by week, ${WEEKS} weeks`}>
      <Trouble error={found.error} />
      {last && (
        <>
          <svg class="bars" viewBox={`0 0 ${WEEKS * 10} 60`} preserveAspectRatio="none" role="img" aria-label={`${many(last.memories, "memory", "memories")} in all, ${count(last.written)} written this week`}>
            {weeks.map((each, at) => {
              const tall = Math.max(each.written ? 2 : 0.5, (58 * each.written) / most);
              return (
                <rect key={each.week} x={at * 10 + 1} width="8" y={60 - tall} height={tall} class={each.written ? "" : "none"}>
                  <title>{`week of ${dayOf(each.week)}: ${many(each.written, "memory", "memories")} written, ${count(each.memories)} in all`}</title>
                </rect>
              );
            })}
          </svg>
          <p class="quiet scale">
            <span>{dayOf(weeks[0]!.week)}</span>
            <span>
              {count(last.memories - (weeks[0]!.memories - weeks[0]!.written))} of {many(last.memories, "version")}
            </span>
            <span>this week: {count(last.written)}</span>
          </p>
        </>
      )}
    </Section>
  );
}

/** What is to be done yet: by the service by itself, or by somebody who decides. */
function Pending({ turn }: { turn: number }) {
  const { namespace, about } = useSession();
  const found = useLoad(`pending ${namespace} ${about?.memories} ${turn}`, async (signal) => {
    const read = (state: "waiting" | "running" | "dead") => call("get", "/api/v1/jobs", { query: { state, limit: MOST }, namespace, signal });
    const [waiting, running, dead, pairs, open] = await Promise.all([
      read("waiting"),
      read("running"),
      read("dead"),
      call("get", "/api/v1/supersessions", { query: { status: "proposed", limit: MOST }, namespace, signal }),
      call("get", "/api/v1/memories/unsettled", { query: { limit: MOST }, namespace, signal }),
    ]);
    return { waiting, running, dead, pairs, open };
  });
  const rows = found.data && [
    { n: found.data.pairs, name: ["contradiction to decide on", "contradictions to decide on"], to: href("changes", { part: "supersessions" }) },
    { n: found.data.open, name: ["pair is not settled", "pairs are not settled"], to: href("changes", { part: "unsettled" }) },
    { n: found.data.running, name: ["job runs", "jobs run"], to: href("changes", { part: "jobs", state: "running" }) },
    { n: found.data.waiting, name: ["job waits", "jobs wait"], to: href("changes", { part: "jobs", state: "waiting" }) },
    { n: found.data.dead, name: ["job was given up", "jobs were given up"], to: href("changes", { part: "jobs", state: "dead" }) },
  ].filter((each) => each.n.items.length > 0);
  const reasons = [...new Set(found.data?.waiting.items.filter((job) => job.postponed > 0 && job.error).map((job) => job.error!))];
  const texts = (about?.pending_embeddings ?? 0) + (about?.pending_names ?? 0);
  return (
    <Section title="Pending work">
      <Trouble error={found.error} />
      {rows?.length === 0 && !texts && <p class="quiet">None: nothing waits, and nothing asks for a decision.</p>}
      <ul class="pending">
        {texts > 0 && (
          <li>
            <a href={href("changes", { part: "vectors" })}>{many(texts, "text waits", "texts wait")}</a> for vectors and names
          </li>
        )}
        {rows?.map(({ n, name, to }) => (
          <li key={to}>
            <a href={to}>
              {count(n.items.length)}
              {n.next_cursor && "+"} {name[n.items.length === 1 && !n.next_cursor ? 0 : 1]}
            </a>
          </li>
        ))}
        {reasons.slice(0, SHOWN).map((reason) => (
          <li key={reason} class="quiet">
            Put off: <Text of={reason} cut={300} />
          </li>
        ))}
      </ul>
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
          <a href={href("constellation", { as_of: null, known_at: null, play: "on" })}>Watch relations fade over the next months</a>
          <span class="quiet">What nobody confirms loses its confidence. Eight months in a quarter of a minute.</span>
        </li>
      </ol>
    </Section>
  );
}

const WAYS = ["MCP", "Python", "TypeScript", "curl"] as const;
function Connect() {
  const { namespace, me } = useSession();
  const [way, choose] = useState<(typeof WAYS)[number]>("MCP");
  const base = address("/").href.replace(/\/$/, "");
  const keyed = me.kind === "key";
  const header = keyed ? ', "Authorization": "Bearer $LOCI_KEY"' : "";
  const lines = {
    MCP: `{\n  "mcpServers": {\n    "loci": {\n      "type": "http",\n      "url": "${base}/mcp",\n      "headers": {"X-Namespace": "${namespace}"${header}}\n    }\n  }\n}`,
    Python: `from loci import LociClient\n\nclient = LociClient("${base}", namespace="${namespace}")${keyed ? "  # the key is read from LOCI_KEY" : ""}\nclient.memories.write("Alice prefers green tea.", lineage="alice-drink")\nprint(client.recall("What does Alice drink?", k=3).memories)`,
    TypeScript: `import { LociClient } from "loci-client";\n\nconst client = new LociClient({ url: "${base}", namespace: "${namespace}"${keyed ? ", key: process.env.LOCI_KEY" : ""} });\nawait client.remember("Alice prefers green tea.", { lineage: "alice-drink" });\nconsole.log((await client.recall("What does Alice drink?", { k: 3 })).results);`,
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
