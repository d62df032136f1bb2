/** An agent's desk: what it holds for now, what was said, and the context that it would get for its next answer. */
import { useEffect, useState } from "preact/hooks";
import { call, type Schemas } from "../api/client";
import { ago, count, many, percent, when, words } from "../format";
import { Empty, Loading, Parameter, Section, Trouble, useField } from "../parts/common";
import { Text } from "../parts/text";
import { useSession } from "../session";
import { changed, go, href, times, useLoad, usePlace } from "../state";

const PAGE = 100;
const TURNS = 50;
const SECTIONS = ["profile", "memories", "constraints", "unsettled", "graph", "working_memory", "patrol", "subagents", "turns"] as const;

export function Desk() {
  const place = usePlace();
  const { namespace } = useSession();
  const sessions = useLoad(`sessions ${namespace}`, (signal) => call("get", "/api/v1/conversations", { query: { limit: PAGE }, namespace, signal }));
  const session = place.params.get("session") ?? sessions.data?.items[0]?.session_id ?? null;
  return (
    <div class="desk">
      <h1>Desk</h1>
      <Trouble error={sessions.error} />
      <div class="bar-line">
        <label class="size">
          Conversation
          <select value={session ?? ""} onChange={(event) => go(changed({ session: event.currentTarget.value || null }))}>
            {[...new Set([session ?? "", ...(sessions.data?.items ?? []).map((each) => each.session_id)])].map((each) => (
              <option key={each} value={each}>
                {each || (sessions.data ? "none yet" : "…")}
              </option>
            ))}
          </select>
        </label>
      </div>
      {(sessions.data || sessions.error || place.params.get("session")) && <Context session={session} />}
      <div class="columns">
        <Turns session={session} known={sessions.data !== undefined} />
        <Working />
      </div>
    </div>
  );
}

/** What an agent would get now. Only shown: the session is as it was. */
function Context({ session }: { session: string | null }) {
  const place = usePlace();
  const { namespace } = useSession();
  const { as_of, known_at } = times(place);
  const message = place.params.get("q")?.trim() || null;
  const field = useField(message ?? "");
  const budget = Math.max(0, Math.trunc(Number(place.params.get("chars")))) || null;
  const body = { message, session_id: session, max_chars: budget, as_of, known_at, preview: true };
  const found = useLoad(`context ${namespace} ${JSON.stringify(body)}`, (signal) => call("post", "/api/v1/context", { body, namespace, signal }));
  return (
    <Section title="The context it would get now" note="nothing is stored by looking">
      <form
        class="line"
        role="search"
        aria-label="Context"
        onSubmit={(event) => {
          event.preventDefault();
          go(changed({ q: field.current!.value.trim() || null }));
        }}
      >
        <input ref={field} type="search" name="message" defaultValue={message ?? ""} placeholder="The message that is about to be answered" aria-label="The message that is about to be answered" />
        <label class="size">
          Budget
          <Parameter type="number" min="1" step="100" asked={String(budget ?? "")} placeholder="characters" change={(chars) => go(changed({ chars }), { replace: true })} />
        </label>
        <button class="primary">Build</button>
      </form>
      <Trouble error={found.error} />
      {!found.data && !found.error && <Loading what="Building it…" />}
      {found.data && <Built of={found.data} budget={budget} busy={found.loading} />}
    </Section>
  );
}

function Built({ of, budget, busy }: { of: Schemas["ContextOut"]; budget: number | null; busy: boolean }) {
  const length = [...of.text].length;
  const shown = [...of.profile, ...of.memories];
  const kept: Record<(typeof SECTIONS)[number], number> = {
    profile: of.profile.length,
    memories: of.memories.length,
    constraints: of.constraints.length,
    unsettled: of.unsettled.length,
    graph: of.graph?.edges.length ?? 0,
    working_memory: of.working_memory.length,
    patrol: of.patrol.length,
    subagents: of.subagents.length,
    turns: of.turns.length,
  };
  return (
    <div class={busy ? "busy" : ""} aria-busy={busy}>
      <p role="status" class="quiet">
        {many(length, "character")}
        {budget ? ` of ${count(budget)} (${percent(length / budget)})` : ", no budget"} · {of.first ? "the first context of the session" : "not the first of the session"} ·{" "}
        {of.held_back ? `${many(of.held_back, "memory", "memories")} held back: shown before` : "nothing is held back"}
      </p>
      <div class="columns">
        <table class="sections">
          <thead>
            <tr>
              <th scope="col">section</th>
              <th scope="col">shown</th>
              <th scope="col">left out</th>
            </tr>
          </thead>
          <tbody>
            {SECTIONS.map((name) => (
              <tr key={name}>
                <th scope="row">{words(name)}</th>
                <td>{count(kept[name])}</td>
                <td>
                  {of.truncated
                    .filter((each) => each.section === name)
                    .map((each) => `${each.left_out === null ? "some" : count(each.left_out)}: ${words(each.reason)}`)
                    .join("; ") || <span class="quiet">–</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <pre class="lines" tabIndex={0} aria-label="The text of the context">
          {of.text ? <Text of={of.text} /> : <span class="quiet">(nothing)</span>}
        </pre>
      </div>
      {shown.length > 0 && (
        <p class="chips hint">
          From{" "}
          {shown.map((each) => (
            <a key={each.id} class="chip" href={href("memory", { id: each.id })}>
              <Text of={each.content} cut={40} />
            </a>
          ))}
        </p>
      )}
    </div>
  );
}

function Turns({ session, known }: { session: string | null; known: boolean }) {
  const { namespace } = useSession();
  const found = useLoad(`turns ${namespace} ${session}`, (signal) =>
    session ? call("get", "/api/v1/conversations/{session}/turns", { path: { session }, query: { limit: TURNS }, namespace, signal }) : Promise.resolve(null),
  );
  return (
    <Section title="Conversation" note={found.data ? many(found.data.items.length, "turn") : undefined}>
      <Trouble error={found.error} />
      {((session === null && known) || found.data?.items.length === 0) && <Empty>No conversation is kept here yet.</Empty>}
      <ol class="turns">
        {(found.data?.items ?? []).map((each) => (
          <li key={each.id}>
            <span class="quiet">
              <Text of={each.role} cut={30} /> · <time dateTime={each.said_at}>{when(each.said_at)}</time>
            </span>
            <p>
              <Text of={each.content} cut={600} />
            </p>
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** Entries of working memory, each with how much of its life is left. */
function Working() {
  const { namespace } = useSession();
  const found = useLoad(`working ${namespace}`, (signal) => call("get", "/api/v1/working-memory", { query: { limit: PAGE }, namespace, signal }));
  const [now, tick] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => tick(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const live = (found.data?.items ?? []).filter((each) => Date.parse(each.expires_at) > now);
  return (
    <Section title="Working memory" note={found.data && many(live.length, "entry", "entries")}>
      <Trouble error={found.error} />
      {found.data && !live.length && <Empty>Nothing is held for now. What an agent saves here ends by itself.</Empty>}
      <ul class="entries">
        {live.map((each) => {
          const whole = Date.parse(each.expires_at) - Date.parse(each.stored_at);
          const left = Math.max(0, Math.min(1, (Date.parse(each.expires_at) - now) / whole));
          return <Entry key={each.key} of={each} left={left} />;
        })}
      </ul>
    </Section>
  );
}

function Entry({ of, left }: { of: Schemas["Entry"]; left: number }) {
  const { namespace } = useSession();
  const [open, set] = useState(false);
  const value = useLoad(`entry ${namespace} ${of.key} ${open}`, (signal) => (open ? call("get", "/api/v1/working-memory/{key}", { path: { key: of.key }, namespace, signal }) : Promise.resolve(null)));
  return (
    <li>
      <button type="button" class="disclose" aria-expanded={open} onClick={() => set(!open)}>
        <Text of={of.key} cut={120} />
      </button>
      <meter min={0} max={1} low={0.1} value={left} aria-label={`Time left of ${of.key}: ${percent(left)}`} />
      <span class="quiet">ends {ago(of.expires_at)}</span>
      {open && (value.error ? <Trouble error={value.error} /> : value.data && <pre class="lines"><Text of={JSON.stringify((value.data as { value: unknown }).value, null, 1)} cut={4000} /></pre>)}
    </li>
  );
}
