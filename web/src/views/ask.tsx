/** A question, its results as an agent would get them, and why; why not; and two sides of it. */
import { call, type Schemas } from "../api/client";
import { ago, many, words } from "../format";
import { ARMS, bodyOf, logged, MORE_ARMS, sideOf, SIZES } from "../parts/asked";
import { Empty, Loading, Parameter, Section, Trouble, useField } from "../parts/common";
import { Found } from "../parts/found";
import { Logged, Other, Sides } from "../parts/sides";
import { Text } from "../parts/text";
import { WhyNot } from "../parts/whynot";
import { useSession } from "../session";
import { changed, go, href, times, useLoad, usePlace } from "../state";

export function Ask() {
  const place = usePlace();
  const { namespace } = useSession();
  const { as_of, known_at } = times(place);
  const { params } = place;
  const body = bodyOf(params, { as_of, known_at });
  const answer = useLoad(`ask ${namespace} ${JSON.stringify(body)}`, (signal) =>
    body ? call("post", "/api/v1/recall", { body, namespace, signal }) : Promise.resolve(null),
  );
  const side = sideOf(params);
  return (
    <div class="ask">
      <h1>Ask</h1>
      <Question params={place.params} />
      <Chosen params={place.params} />
      <Trouble error={answer.error} />
      {body && !answer.data && !answer.error && <Loading what="Asking…" />}
      {body && side && <Other side={side} />}
      {body && answer.data && params.get("log") ? (
        <Logged id={params.get("log")!} now={answer.data} />
      ) : body && answer.data && side ? (
        <Sides now={answer.data} body={bodyOf(params, { as_of, known_at }, side)!} />
      ) : (
        body && answer.data && <Answer of={answer.data} busy={answer.loading} />
      )}
      {body && answer.data && <WhyNot body={body} />}
      {!body && <Log />}
    </div>
  );
}

const ASKED_FOR = "loci asked for"; // whom the last question was asked for: `I` means the same in the next one

/** Whom `I` means where the address does not say: the user of the key, or the one that was asked for last. */
const lastAsker = (): string | null => sessionStorage.getItem(ASKED_FOR);

function Question({ params }: { params: URLSearchParams }) {
  const { me } = useSession();
  const asked = params.get("q") ?? "";
  const field = useField(asked);
  const on = params.get("arms")?.split(",").filter(Boolean) ?? [...ARMS];
  const toggle = (arm: string) => {
    const left = on.includes(arm) ? on.filter((each) => each !== arm) : [...on, arm];
    const usual = left.length === ARMS.length && ARMS.every((each) => left.includes(each));
    go(changed({ arms: usual || !left.length ? null : left.join(",") }));
  };
  const askFor = (user: string | null) => {
    if (user) sessionStorage.setItem(ASKED_FOR, user);
    else sessionStorage.removeItem(ASKED_FOR);
    go(changed({ user, log: null }));
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    go(changed({ q: field.current!.value.trim() || null, log: null, why: null, user: params.get("user") || (me.user ? null : lastAsker()) }));
  };
  return (
    <form class="question" role="search" aria-label="Ask" onSubmit={submit}>
      <div class="line">
        <input ref={field} type="search" name="q" defaultValue={asked} aria-label="Question" placeholder="Ask what an agent would ask" autofocus={!asked} />
        <button class="primary">Ask</button>
      </div>
      <fieldset class="arms">
        <legend>Arms</legend>
        {[...ARMS, ...MORE_ARMS].map((arm) => (
          <label key={arm} class={`toggle arm-${arm}`}>
            <input type="checkbox" checked={on.includes(arm)} onChange={() => toggle(arm)} />
            {words(arm)}
          </label>
        ))}
        <a class="compare" href={changed({ b: params.get("b") || params.get("log") ? null : "side", log: null })}>
          {params.get("b") || params.get("log") ? "One side only" : "Side by side…"}
        </a>
        <label class="size">
          I am
          <Parameter name="user" asked={params.get("user") ?? ""} placeholder={me.user ?? "nobody named"} maxLength={255} change={(user) => askFor(user)} />
        </label>
        <label class="size">
          Results
          <select value={params.get("k") ?? "10"} onChange={(event) => go(changed({ k: event.currentTarget.value }))}>
            {[...new Set([...SIZES, Number(params.get("k")) || 10])].sort((a, b) => a - b).map((size) => (
              <option key={size}>{size}</option>
            ))}
          </select>
        </label>
      </fieldset>
    </form>
  );
}

const FILTERS = ["category", "tag", "entity", "session", "layer"] as const;
function Chosen({ params }: { params: URLSearchParams }) {
  const on = FILTERS.filter((name) => params.get(name));
  if (!on.length) return null;
  return (
    <p class="chips" aria-label="Filters">
      {on.map((name) => (
        <a key={name} class="chip on" href={changed({ [name]: null })} aria-label={`Without the filter ${name} ${params.get(name)}`}>
          {name}: <Text of={params.get(name)!} cut={60} /> <span aria-hidden="true">×</span>
        </a>
      ))}
    </p>
  );
}

function Answer({ of, busy }: { of: Schemas["RecallOut"]; busy: boolean }) {
  const skipped = Object.entries(of.skipped as Record<string, unknown>);
  const best = of.results[0]?.score ?? 1;
  return (
    <div class={busy ? "busy" : ""} aria-busy={busy}>
      <p class="quiet answered" role="status">
        {many(of.results.length, "result")} in {Math.round(of.took_ms)} ms
        {of.entities.length > 0 && (
          <>
            {" "}
            · names{" "}
            {(of.entities as { id: string; name: string }[]).map((each) => (
              <a key={each.id} class="chip" href={changed({ entity: each.name })}>
                <Text of={each.name} cut={40} />
              </a>
            ))}
          </>
        )}
        {of.waiting ? ` · ${many(of.waiting, "text")} not searched by meaning yet` : ""}
      </p>
      {skipped.length > 0 && (
        <ul class="skipped quiet">
          {skipped.map(([arm, reason]) => (
            <li key={arm}>
              <span class={`dot arm-${arm}`} aria-hidden="true" /> {words(arm)} took no part: <Text of={typeof reason === "string" ? reason : JSON.stringify(reason)} cut={200} />
            </li>
          ))}
        </ul>
      )}
      {of.constraints.length > 0 && (
        <Section title="Rules that hold" class="constraints">
          <ul>
            {of.constraints.map((each) => (
              <li key={each.id}>
                <Text of={each.content} cut={300} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      {of.results.length === 0 && (
        <Empty>
          <strong>Nothing was found.</strong> With a filter, or at a moment before anything was known, that may be right. <a href={changed({ as_of: null, known_at: null, category: null, tag: null, entity: null, session: null, layer: null })}>Ask now, without filters</a>
        </Empty>
      )}
      <ol class="results">
        {of.results.map((each, at) => (
          <Found key={`${each.tier} ${"id" in each ? each.id : each.key}`} of={each} place={at + 1} best={best} />
        ))}
      </ol>
    </div>
  );
}

/** What agents asked: each line asks again, as it was then. */
function Log() {
  const { namespace, about } = useSession();
  const found = useLoad(`recalls ${namespace}`, (signal) => call("get", "/api/v1/recalls", { query: { limit: 20 }, namespace, signal }));
  const items = found.data?.items ?? [];
  const again = (of: Schemas["ListedRecall"]) => href("ask", logged(of));
  return (
    <Section title="What agents asked" note={items.length ? "asks again as it was then" : undefined}>
      <Trouble error={found.error} />
      {found.data && !items.length && (
        <Empty>
          {about?.settings.recall_log ? "Nobody has asked yet." : <>Questions are not kept in this namespace. Its setting <code>recall_log</code> keeps them, so that they can be looked into and rated.</>}
        </Empty>
      )}
      <ul class="log">
        {items.map((each) => (
          <li key={each.id}>
            <a href={again(each)}>
              <Text of={each.query} cut={200} />
            </a>
            <span class="quiet">
              {many(each.results, "result")} · {Math.round(each.took_ms)} ms · <time dateTime={each.at}>{ago(each.at)}</time>
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
