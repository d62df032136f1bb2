/** A question, its results as an agent would get them, and why. */
import { useEffect, useRef } from "preact/hooks";
import { call, type Schemas } from "../api/client";
import { ago, exact, many, percent, when, words } from "../format";
import { Empty, Loading, Section, Trouble } from "../parts/common";
import { Text } from "../parts/text";
import { useSession } from "../session";
import { changed, go, href, times, useLoad, usePlace } from "../state";

const ARMS = ["lexical", "vector", "graph", "hierarchy", "walk"] as const;
const MORE_ARMS = ["working_memory", "conversation"] as const;
const SIZES = [5, 10, 20, 50];
type Result = Schemas["RecallOut"]["results"][number];
type Body = Partial<Schemas["RecallInput"]>;

interface ArmFound {
  rank: number;
  score: number;
  weight?: number;
  normalised?: number;
  lent?: number | null;
  path?: unknown;
}
interface Explanation {
  fusion?: string;
  rrf_k?: number;
  lent?: number;
  waited?: boolean;
  arms?: Record<string, ArmFound>;
}

/** What an arm gave to the score of a result. */
function share(arm: ArmFound, of: Explanation): number {
  if (of.fusion === "rrf") return (arm.weight ?? 1) / ((of.rrf_k ?? 60) + arm.rank) + (arm.lent ?? 0);
  return arm.normalised ?? 0;
}

function question(params: URLSearchParams): Body | null {
  const query = params.get("q")?.trim();
  if (!query) return null;
  const chosen = params.get("arms")?.split(",").filter(Boolean) as Body["arms"];
  const filters: Partial<Schemas["Filters"]> = {};
  if (params.get("category")) filters.category = params.get("category");
  if (params.get("tag")) filters.tags = [params.get("tag")!];
  if (params.get("entity")) filters.entity = params.get("entity");
  if (params.get("session")) filters.session_id = params.get("session");
  if (params.get("layer")) filters.layers = [Number(params.get("layer"))];
  return {
    query,
    k: SIZES.includes(Number(params.get("k"))) ? Number(params.get("k")) : 10,
    explain: true,
    ...(chosen?.length ? { arms: chosen } : {}),
    ...(Object.keys(filters).length ? { filters: filters as Schemas["Filters"] } : {}),
  };
}

export function Ask() {
  const place = usePlace();
  const { namespace } = useSession();
  const { as_of, known_at } = times(place);
  const asked = question(place.params);
  const body = asked && { ...asked, as_of, known_at };
  const answer = useLoad(`ask ${namespace} ${JSON.stringify(body)}`, (signal) =>
    body ? call("post", "/api/v1/recall", { body, namespace, signal }) : Promise.resolve(null),
  );
  return (
    <div class="ask">
      <h1>Ask</h1>
      <Question params={place.params} />
      <Chosen params={place.params} />
      <Trouble error={answer.error} />
      {body && !answer.data && !answer.error && <Loading what="Asking…" />}
      {body && answer.data && <Answer of={answer.data} busy={answer.loading} />}
      {!body && <Log />}
    </div>
  );
}

function Question({ params }: { params: URLSearchParams }) {
  const field = useRef<HTMLInputElement>(null);
  const asked = params.get("q") ?? "";
  useEffect(() => {
    if (field.current) field.current.value = asked;
  }, [asked]);
  const on = params.get("arms")?.split(",").filter(Boolean) ?? [...ARMS];
  const toggle = (arm: string) => {
    const left = on.includes(arm) ? on.filter((each) => each !== arm) : [...on, arm];
    const usual = left.length === ARMS.length && ARMS.every((each) => left.includes(each));
    go(changed({ arms: usual || !left.length ? null : left.join(",") }));
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    go(changed({ q: field.current!.value.trim() || null }));
  };
  return (
    <form class="question" role="search" onSubmit={submit}>
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
        <label class="size">
          Results
          <select value={params.get("k") ?? "10"} onChange={(event) => go(changed({ k: event.currentTarget.value }))}>
            {SIZES.map((size) => (
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

function Found({ of, place, best }: { of: Result; place: number; best: number }) {
  const why = (of.explain ?? {}) as Explanation;
  const arms = Object.entries(why.arms ?? {}).map(([name, arm]) => ({ name, arm, share: share(arm, why) }));
  const sum = arms.reduce((all, each) => all + each.share, 0) || 1;
  arms.sort((a, b) => b.share - a.share);
  const content = of.tier === "working_memory" ? JSON.stringify(of.value) : of.content;
  return (
    <li class="result">
      <span class="place" aria-hidden="true">
        {place}
      </span>
      <div class="found">
        <p class="content">
          {of.tier === "memory" ? (
            <a href={href("memory", { id: of.id })}>
              <Text of={content} cut={600} />
            </a>
          ) : (
            <Text of={content} cut={600} />
          )}
        </p>
        <p class="facts">
          {of.tier === "memory" ? (
            <>
              <a class="chip" href={changed({ category: of.category })}>
                <Text of={of.category} cut={60} />
              </a>
              {of.tags.slice(0, 6).map((tag) => (
                <a key={tag} class="chip" href={changed({ tag })}>
                  #<Text of={tag} cut={40} />
                </a>
              ))}
              <span class="quiet">
                true {when(of.valid_from)} – {when(of.valid_to, "now")}
              </span>
            </>
          ) : (
            <span class="quiet">
              {words(of.tier)} {of.tier === "conversation" ? `· ${of.role} · ${when(of.said_at)}` : `· until ${when(of.expires_at)}`}
            </span>
          )}
        </p>
        <details class="why">
          <summary>
            <span class="share" style={{ "--share": String(Math.max(0.04, of.score / best)) }} aria-hidden="true">
              {arms.map((each) => (
                <i key={each.name} class={`arm-${each.name}`} style={{ "--part": String(each.share / sum) }} />
              ))}
            </span>
            <span class="score" title={String(of.score)}>
              {exact(of.score)}
            </span>
            <span class="quiet">
              {arms.map((each) => words(each.name)).join(", ") || "no arm"} <span class="visually-hidden">: why it was found</span>
            </span>
          </summary>
          <table>
            <thead>
              <tr>
                <th scope="col">arm</th>
                <th scope="col">rank</th>
                <th scope="col">score</th>
                <th scope="col">weight</th>
                <th scope="col">share</th>
                <th scope="col">by way of</th>
              </tr>
            </thead>
            <tbody>
              {arms.map(({ name, arm, share: given }) => (
                <tr key={name}>
                  <th scope="row">
                    <span class={`dot arm-${name}`} aria-hidden="true" />
                    {words(name)}
                  </th>
                  <td>{arm.rank}</td>
                  <td title={String(arm.score)}>{exact(arm.score)}</td>
                  <td>{arm.weight === undefined ? "–" : exact(arm.weight)}</td>
                  <td>{percent(given / sum)}</td>
                  <td>
                    <Path of={arm.path} />
                    {arm.lent ? ` + ${exact(arm.lent)} lent by neighbours` : ""}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <p class="quiet">
            {why.fusion === "rrf" ? `Fused by rank: weight / (${exact(why.rrf_k ?? 60)} + rank), summed.` : "The mean of the normalised scores of the arms that found it."}
            {why.lent ? ` Neighbours in its session lent ${exact(why.lent)}.` : ""}
            {why.waited ? " Its vector was made for this question; it was not stored yet." : ""}
          </p>
        </details>
      </div>
    </li>
  );
}

function Path({ of }: { of: unknown }) {
  if (!of || typeof of !== "object") return <span class="quiet">its text</span>;
  const { path, decay } = of as { path?: unknown[]; decay?: number[] };
  const steps = (path ?? []).map((step) => (typeof step === "string" ? step : JSON.stringify(step)));
  return (
    <span>
      <Text of={steps.join(" → ") || JSON.stringify(of)} cut={300} />
      {decay && decay.length > 0 && <span class="quiet"> (decayed to {decay.map((each) => percent(each)).join(", ")})</span>}
    </span>
  );
}

/** What agents asked: each line asks again, as it was then. */
function Log() {
  const { namespace, about } = useSession();
  const found = useLoad(`recalls ${namespace}`, (signal) => call("get", "/api/v1/recalls", { query: { limit: 20 }, namespace, signal }));
  const items = found.data?.items ?? [];
  const again = (of: Schemas["ListedRecall"]) => {
    const filters = of.filters as Partial<Schemas["Filters"]>;
    return href("ask", {
      q: of.query,
      k: SIZES.includes(of.k) ? of.k : null,
      arms: of.arms.join(","),
      category: filters.category,
      tag: filters.tags?.[0],
      entity: filters.entity,
      session: filters.session_id,
      as_of: of.as_of ?? of.at,
      known_at: of.known_at ?? of.at,
    });
  };
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
