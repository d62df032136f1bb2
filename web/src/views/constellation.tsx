/** The graph as a picture, at any moment: it grows, is confirmed, and fades. Nothing in it moves. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, type Schemas } from "../api/client";
import { count, DAY, dayOf, many, percent, when, words } from "../format";
import { Act, Empty, hue, Loading, Section, Trouble } from "../parts/common";
import { arrange, bodies, type Body, type Edge, type Places, type Relation } from "../parts/graph";
import { SkyPicture } from "../parts/sky";
import { Text } from "../parts/text";
import { mayWrite, useSession } from "../session";
import { changed, go, href, times, useLoad, usePlace } from "../state";

const MOST = 500;
const PAGE = 1000;
const PAGES = 4;
const FRAMES = 40;
const BEAT = 320;
const SOON = 90 * DAY;
const FAR = 240 * DAY;
const kept = new Map<string, Places>();

async function everyEdge(namespace: string, known_at: string | undefined, signal: AbortSignal): Promise<Edge[]> {
  const all: Edge[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const found = await call("get", "/api/v1/edges", { query: { limit: PAGE, faded: true, known_at, cursor }, namespace, signal });
    all.push(...found.items);
    if (!found.next_cursor) break;
    cursor = found.next_cursor;
  }
  return all;
}

export function Constellation() {
  const place = usePlace();
  const { namespace } = useSession();
  const { as_of, known_at } = times(place);
  const known = known_at ?? undefined;
  const base = useLoad(`sky ${namespace} ${known_at}`, async (signal) => {
    const [sky, edges] = await Promise.all([
      call("get", "/api/v1/knowledge/constellation", { query: { limit: MOST, known_at: known }, namespace, signal }),
      everyEdge(namespace, known, signal),
    ]);
    return { sky, edges };
  });
  const then = useLoad(`sky ${namespace} ${as_of} ${known_at}`, (signal) =>
    as_of ? call("get", "/api/v1/knowledge/constellation", { query: { limit: MOST, as_of, known_at: known }, namespace, signal }) : Promise.resolve(null),
  );
  const moment = as_of ? Date.parse(as_of) : Date.now();
  const all = useMemo(() => (base.data ? bodies(base.data.sky, (as_of ? then.data : null) ?? base.data.sky, base.data.edges, moment) : null), [base.data, then.data, as_of]);
  const [places, settle] = useState<Places | null>(kept.get(namespace) ?? null);
  useEffect(() => {
    if (!all || !base.data) return;
    let gone = false;
    const from = kept.get(namespace) ?? new Map();
    // The first arrangement is that of all there is, at whatever moment the page was opened.
    const whole = from.size ? all : bodies(base.data.sky, base.data.sky, base.data.edges, Date.now());
    void arrange(whole, from).then(async (placed) => {
      const found = whole === all ? placed : await arrange(all, placed);
      kept.set(namespace, found);
      if (!gone) settle(found);
    });
    return () => void (gone = true);
  }, [all, namespace]);

  const error = base.error ?? then.error;
  if (!all) return error ? <Trouble error={error} /> : <Loading what="Reading the graph…" />;
  return (
    <div class="constellation">
      <h1>Constellation</h1>
      <Trouble error={error} />
      {all.size === 0 ? (
        <Empty>
          <strong>No entity stands out yet.</strong> Memories that name people, projects and things, and relations between them, make a constellation.
        </Empty>
      ) : places ? (
        <Drawn all={all} places={places} edges={base.data?.edges ?? []} moment={moment} busy={base.loading || then.loading} more={base.data?.sky.more ?? false} />
      ) : (
        <Loading what="Arranging…" />
      )}
    </div>
  );
}

interface DrawnProps {
  all: Map<string, Body>;
  places: Places;
  edges: Edge[];
  moment: number;
  busy: boolean;
  more: boolean;
}

function Drawn({ all, places, edges, moment, busy, more }: DrawnProps) {
  const { params } = usePlace();
  const [hovered, hover] = useState<string | null>(null);
  const chosen = params.get("focus") && all.has(params.get("focus")!) ? params.get("focus") : null;
  const hidden = useMemo(() => new Set(params.get("without")?.split(",").filter(Boolean)), [params.get("without")]);
  const types = useMemo(() => [...new Set([...all.values()].map((each) => each.star.type))].sort(), [all]);
  const choose = (id: string | null) => go(changed({ focus: id }));
  const ordered = useMemo(() => [...all.values()].sort((a, b) => Number(b.star.pinned) - Number(a.star.pinned) || b.star.mentions - a.star.mentions || (a.star.id < b.star.id ? -1 : 1)), [all]);
  const relations = new Map(ordered.flatMap((each) => each.relations).map((each) => [each.id, each]));
  const alive = [...relations.values()].filter((each) => each.state === "alive").length;
  useEffect(() => {
    const hear = (event: KeyboardEvent) => event.key === "Escape" && chosen && choose(null);
    addEventListener("keydown", hear);
    return () => removeEventListener("keydown", hear);
  }, [chosen]);
  return (
    <>
      <div class="bar-line">
        <Find all={ordered} choose={choose} />
        <Play edges={edges} busy={busy} />
        <p class="quiet" role="status">
          {many(ordered.filter((each) => each.state !== "unborn").length, "entity", "entities")}, {many(alive, "living relation")} at {when(moment)}
          {more && `; only the ${MOST} that weigh most are drawn`}
        </p>
      </div>
      <div class="field">
        <SkyPicture all={all} places={places} types={types} hidden={hidden} chosen={chosen} hovered={hovered} choose={choose} hover={hover} />
        <aside>{chosen ? <About body={all.get(chosen)!} all={all} close={() => choose(null)} /> : <Fading relations={[...relations.values()]} all={all} />}</aside>
      </div>
      <ul class="legend" aria-label="Types: choose what is drawn">
        {types.map((type) => {
          const off = hidden.has(type);
          const left = off ? [...hidden].filter((each) => each !== type) : [...hidden, type];
          return (
            <li key={type}>
              <button type="button" aria-pressed={!off} onClick={() => go(changed({ without: left.join(",") || null }), { replace: true })}>
                <span class={`dot hue-${hue(type, types)}`} aria-hidden="true" />
                <Text of={type} cut={30} />
              </button>
            </li>
          );
        })}
        <li class="quiet key">
          <span class="dot full" aria-hidden="true" /> lives
        </li>
        <li class="quiet key">
          <span class="dot hollow" aria-hidden="true" /> faded
        </li>
        <li class="quiet key">
          <span class="dot ghost" aria-hidden="true" /> not yet known
        </li>
      </ul>
      <details class="twin">
        <summary>As a table</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">entity</th>
              <th scope="col">type</th>
              <th scope="col">mentions</th>
              <th scope="col">living relations</th>
              <th scope="col">strongest</th>
              <th scope="col">state</th>
            </tr>
          </thead>
          <tbody>
            {ordered.map((each) => {
              const living = each.relations.filter((relation) => relation.state === "alive");
              return (
                <tr key={each.star.id} class={each.star.id === hovered ? "lit" : ""} onMouseEnter={() => hover(each.star.id)} onMouseLeave={() => hover(null)}>
                  <th scope="row">
                    <button type="button" class="link" onClick={() => choose(each.star.id)}>
                      <Text of={each.star.name} cut={60} />
                    </button>
                    {each.star.pinned && <span class="badge">pinned</span>}
                  </th>
                  <td><Text of={each.star.type} cut={30} /></td>
                  <td>{count(each.star.mentions)}</td>
                  <td>{count(living.length)}</td>
                  <td>{living.length ? percent(Math.max(...living.map((relation) => relation.confidence))) : "–"}</td>
                  <td>{{ alive: "lives", faded: "faded", unborn: "not yet known" }[each.state]}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </details>
    </>
  );
}

function Find({ all, choose }: { all: Body[]; choose: (id: string | null) => void }) {
  const [text, set] = useState("");
  const wanted = text.trim().toLocaleLowerCase();
  const found = wanted ? all.filter((each) => each.star.name.toLocaleLowerCase().includes(wanted)).slice(0, 8) : [];
  const take = (id: string) => {
    set("");
    choose(id);
  };
  return (
    <form
      class="find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        if (found[0]) take(found[0].star.id);
      }}
    >
      <input type="search" value={text} placeholder="Find an entity" aria-label="Find an entity" onInput={(event) => set(event.currentTarget.value)} />
      {wanted && (
        <ul class="hits">
          {found.map((each) => (
            <li key={each.star.id}>
              <button type="button" onClick={() => take(each.star.id)}>
                <Text of={each.star.name} cut={50} /> <span class="quiet"><Text of={each.star.type} cut={20} /></span>
              </button>
            </li>
          ))}
          {!found.length && <li class="quiet">None is drawn with this name.</li>}
        </ul>
      )}
    </form>
  );
}

/** From the first relation to ninety days from now. The next step waits for the answer to the last one. */
function Play({ edges, busy }: { edges: Edge[]; busy: boolean }) {
  const [frame, set] = useState<number | null>(null);
  const waiting = useRef(busy);
  waiting.current = busy;
  const from = Math.min(...edges.map((each) => Date.parse(each.first_observed_at ?? each.valid_from)), Date.now() - 30 * DAY);
  const to = Date.now() + FAR;
  useEffect(() => {
    if (frame === null) return;
    const moment = Math.floor((from + ((to - from) * frame) / FRAMES) / DAY) * DAY;
    go(changed({ as_of: new Date(moment).toISOString().replace(".000Z", "Z") }), { replace: true });
    const timer = setInterval(() => {
      if (waiting.current) return;
      clearInterval(timer);
      set(frame >= FRAMES ? null : frame + 1);
    }, BEAT);
    return () => clearInterval(timer);
  }, [frame]);
  return (
    <button type="button" onClick={() => set(frame === null ? 0 : null)} aria-pressed={frame !== null}>
      {frame === null ? "▶ Play" : "■ Stop"}
    </button>
  );
}

/** What will have faded in ninety days, soonest first. */
function Fading({ relations, all }: { relations: Relation[]; all: Map<string, Body> }) {
  const now = Date.now();
  const soon = relations.filter((each) => each.fades !== null && each.fades > now - SOON).sort((a, b) => a.fades! - b.fades!);
  const name = (id: string) => all.get(id)?.star.name ?? "";
  return (
    <Section title="Fading" note={`${soon.filter((each) => each.fades! > now && each.fades! < now + SOON).length} in ninety days`}>
      {!soon.length && <p class="quiet">Nothing is about to fade.</p>}
      <ul class="fading">
        {soon.slice(0, 14).map((each) => (
          <li key={each.id} class={each.fades! < now ? "gone" : ""}>
            <a href={changed({ as_of: new Date(Math.floor(each.fades! / DAY + 1) * DAY).toISOString().replace(".000Z", "Z"), focus: each.source })}>
              <Text of={name(each.source)} cut={30} /> <span class="quiet">{words(each.type)}</span> <Text of={name(each.target)} cut={30} />
            </a>
            <span class="quiet">
              {each.fades! < now ? "faded" : "fades"} {dayOf(each.fades!)}
            </span>
          </li>
        ))}
      </ul>
      <p class="quiet hint">A relation fades where nobody confirms it. Choose one to stand on the day after; choose a star for what is known about it.</p>
    </Section>
  );
}

function About({ body, all, close }: { body: Body; all: Map<string, Body>; close: () => void }) {
  const session = useSession();
  const { namespace } = session;
  const { as_of, known_at } = times(usePlace());
  const { star } = body;
  const mentions = useLoad(`mentions ${star.id} ${as_of} ${known_at}`, (signal) =>
    call("get", "/api/v1/memories", { query: { entity: star.id, limit: 8, as_of: as_of ?? undefined, known_at: known_at ?? undefined }, namespace, signal }),
  );
  const [pinned, pin] = useState(star.pinned);
  const toggle = async () => {
    const done = await call("post", pinned ? "/api/v1/entities/{ref}/unpin" : "/api/v1/entities/{ref}/pin", { path: { ref: star.id }, namespace });
    pin((done as Schemas["EntityOut"]).pinned);
  };
  return (
    <Section title={star.name} class="about">
      <div class="acts">
        <span class="quiet"><Text of={star.type} cut={30} /> · {many(star.mentions, "mention")}</span>
        {mayWrite(session) && (
          <Act class="small" run={toggle} aria-pressed={pinned}>
            {pinned ? "Unpin" : "Pin"}
          </Act>
        )}
        <a href={href("ask", { q: `What about ${star.name}?`, entity: star.name })}>Ask</a>
        <button type="button" class="small" onClick={close} aria-label="Back to the whole graph">
          ×
        </button>
      </div>
      <ul class="relations">
        {[...body.relations].sort((a, b) => b.confidence - a.confidence || (a.id < b.id ? -1 : 1)).slice(0, 30).map((each) => {
          const out = each.source === star.id;
          const other = out ? each.target : each.source;
          return (
            <li key={each.id} class={each.state}>
              <span>
                <span class="quiet">{out ? "" : "← "}{words(each.type)}{out ? " →" : ""}</span>{" "}
                <a href={changed({ focus: other })}><Text of={all.get(other)?.star.name ?? ""} cut={40} /></a>
              </span>
              <meter min={0} max={1} value={each.confidence} aria-label={`Confidence ${percent(each.confidence)}`} />
              <span class="quiet">{each.state === "alive" ? percent(each.confidence) : each.state === "faded" ? "faded" : "not yet"}{each.fades && each.state === "alive" ? `, until ${dayOf(each.fades)}` : ""}</span>
            </li>
          );
        })}
      </ul>
      {star.aspects.map((aspect) => (
        <div key={aspect.id}>
          <h3><Text of={aspect.name} cut={60} /></h3>
          <ul class="attributes">
            {aspect.attributes.map((each) => (
              <li key={each.id}>{each.memory_id ? <a href={href("memory", { id: each.memory_id })}><Text of={each.content} cut={160} /></a> : <Text of={each.content} cut={160} />}</li>
            ))}
          </ul>
        </div>
      ))}
      <h3>Who mentions it</h3>
      <Trouble error={mentions.error} />
      <ul class="attributes">
        {(mentions.data?.items ?? []).map((each) => (
          <li key={each.id}><a href={href("memory", { id: each.id })}><Text of={each.content} cut={120} /></a></li>
        ))}
      </ul>
      {mentions.data?.next_cursor && <a href={href("memory", { entity: star.name })}>all of them</a>}
    </Section>
  );
}
