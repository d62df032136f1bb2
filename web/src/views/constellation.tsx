/** The graph as a picture, at any moment: it grows, is confirmed, and fades. Nothing in it moves. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, type Schemas } from "../api/client";
import { count, DAY, dayOf, many, percent, when, words } from "../format";
import { Act, Empty, hue, Loading, Section, Trouble } from "../parts/common";
import { bodies, type Body, type Line, linesOf, placesOf, type Relation } from "../parts/graph";
import { Merges, Split } from "../parts/merges";
import { SkyPicture } from "../parts/sky";
import { Text } from "../parts/text";
import { useWays, Ways } from "../parts/ways";
import { mayWrite, useSession } from "../session";
import { changed, go, href, times, useLoad, usePlace } from "../state";

const FIRST = 150; // what weighs most; the rest on request
const MOST = 500;
const FRAMES = 80;
const BEAT = 160;
const SOON = 90 * DAY;
const FAR = 240 * DAY;
const COMING = 12; // relations that are listed as fading, and as faded of late
const GONE = 4;

export function Constellation() {
  const place = usePlace();
  const { namespace } = useSession();
  const { as_of, known_at } = times(place);
  const [playing, play] = useState(false);
  const stopped = useRef(as_of); // the service is asked for moments at which the page stands still, never while it plays
  if (!playing) stopped.current = as_of;
  const at = stopped.current;
  const known = known_at ?? undefined;
  const most = place.params.get("most") === String(MOST) ? MOST : FIRST;
  const ask = (query: { as_of?: string; history?: boolean }, signal: AbortSignal) => call("get", "/api/v1/knowledge/constellation", { query: { limit: most, known_at: known, ...query }, namespace, signal });
  const base = useLoad(`sky ${namespace} ${most} ${known_at}`, async (signal) => {
    const sky = await ask({ history: true }, signal);
    return { sky, lines: linesOf(sky) };
  });
  const then = useLoad(`sky ${namespace} ${most} ${at} ${known_at}`, async (signal) => ({ at, sky: at ? await ask({ as_of: at }, signal) : null }));
  const moment = as_of ? Date.parse(as_of) : Date.now();
  const said = then.data?.at === as_of && !playing ? then.data.sky : null;
  const all = useMemo(() => (base.data ? bodies(base.data.sky, base.data.lines, said, moment) : null), [base.data, said, as_of]);

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
      ) : (
        <Drawn all={all} busy={base.loading || then.loading} lines={base.data?.lines ?? []} moment={moment} at={at} playing={playing} play={play} more={base.data?.sky.more ?? false} reload={() => (base.reload(), then.reload())} />
      )}
    </div>
  );
}

interface DrawnProps {
  all: Map<string, Body>;
  busy: boolean;
  lines: Line[];
  moment: number;
  at: string | null;
  playing: boolean;
  play: (on: boolean) => void;
  more: boolean;
  reload: () => void;
}

function Drawn({ all, busy, lines, moment, at, playing, play, more, reload }: DrawnProps) {
  const { params } = usePlace();
  const session = useSession();
  const places = useMemo(() => placesOf(all), [all]);
  const [hovered, hover] = useState<string | null>(null);
  const chosen = params.get("focus") && all.has(params.get("focus")!) ? params.get("focus") : null;
  const hidden = useMemo(() => new Set(params.get("without")?.split(",").filter(Boolean)), [params.get("without")]);
  const types = useMemo(() => [...new Set([...all.values()].map((each) => each.star.type))].sort(), [all]);
  const choose = (id: string | null) => go(changed({ focus: id, to: null }));
  const to = chosen && params.get("to") !== chosen ? params.get("to") : null;
  const ways = useWays(to && chosen, to, at);
  const along = useMemo(() => (to && ways.ways ? new Set(ways.ways.flatMap((way) => way.steps.map((each) => each.id))) : null), [to, ways.ways]);
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
        <Play lines={lines} playing={playing} play={play} />
        <p class="quiet" role="status" aria-busy={busy}>
          {many(ordered.filter((each) => each.state !== "unborn").length, "entity", "entities")}, {many(alive, "living relation")} at {when(moment)}
          {more && `; only the ${params.get("most") === String(MOST) ? MOST : FIRST} that weigh most are drawn`}
          {more && params.get("most") !== String(MOST) && (
            <>
              {" "}
              <a href={changed({ most: MOST })}>Draw {MOST}</a>
            </>
          )}
        </p>
      </div>
      <div class="field">
        <SkyPicture all={all} places={places} types={types} hidden={hidden} chosen={chosen} hovered={hovered} along={along} choose={choose} hover={hover} />
        <aside>
          {chosen ? (
            <About key={chosen} body={all.get(chosen)!} at={at} all={all} ordered={ordered} close={() => choose(null)} reload={reload}>
              {to && <Ways from={chosen} name={all.get(to)?.star.name ?? to} found={ways} />}
            </About>
          ) : (
            <>
              <Fading relations={[...relations.values()]} all={all} moment={moment} />
              {mayWrite(session) && <Merges done={reload} />}
            </>
          )}
        </aside>
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

function Find({ all, choose, label = "Find an entity" }: { all: Body[]; choose: (id: string | null) => void; label?: string }) {
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
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        if (found[0]) take(found[0].star.id);
      }}
    >
      <input type="search" value={text} placeholder={label} aria-label={label} onInput={(event) => set(event.currentTarget.value)} />
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

/**
 * From the first relation to some months from now, out of what the page knows; whoever moves in time meanwhile stops it. An address
 * with play=on begins by itself, and with what is to come.
 */
function Play({ lines, playing, play }: { lines: Line[]; playing: boolean; play: (on: boolean) => void }) {
  const { params } = usePlace();
  const { as_of } = times(usePlace());
  const frame = useRef(0);
  const from = useRef(0);
  const shown = useRef<string | null>(null);
  const going = useRef(playing); // no frame comes after it was stopped, though the timer is cleared later
  going.current = playing;
  const to = Date.now() + FAR;
  const show = () => {
    const moment = Math.floor((from.current + ((to - from.current) * frame.current++) / FRAMES) / DAY) * DAY;
    shown.current = new Date(moment).toISOString().replace(".000Z", "Z");
    go(changed({ as_of: shown.current, play: null }), { replace: true });
  };
  const start = (first: number) => {
    frame.current = 0;
    from.current = first;
    play(true);
    show();
  };
  const begin = () => start(lines.reduce((least, each) => Math.min(least, each.steps[0]!.at), Date.now() - 30 * DAY));
  useEffect(() => {
    if (params.get("play") === "on" && !matchMedia("(prefers-reduced-motion: reduce)").matches) start(Date.now());
  }, []);
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => going.current && (frame.current > FRAMES ? play(false) : show()), BEAT);
    return () => clearInterval(timer);
  }, [playing]);
  useLayoutEffect(() => {
    if (playing && as_of !== shown.current) play(false);
  }, [as_of]); // before the next frame can be set
  return (
    <button type="button" onClick={() => (playing ? play(false) : begin())} aria-pressed={playing}>
      {playing ? "■ Stop" : "▶ Play"}
    </button>
  );
}

/** What will have faded ninety days after the moment, soonest first, and what has faded shortly before it. */
function Fading({ relations, all, moment: now }: { relations: Relation[]; all: Map<string, Body>; moment: number }) {
  const near = relations.filter((each) => each.fades !== null && each.begins <= now && each.fades > now - SOON).sort((a, b) => a.fades! - b.fades!);
  const coming = near.filter((each) => each.fades! > now);
  const gone = near.slice(0, near.length - coming.length).reverse();
  const soon = [...coming.slice(0, COMING), ...gone.slice(0, GONE)]; // what is to come first
  const name = (id: string) => all.get(id)?.star.name ?? "";
  const ahead = count(coming.filter((each) => each.fades! < now + SOON).length);
  return (
    <Section title="Fading" note={`${ahead} in ninety days${gone.length ? `, ${count(gone.length)} in those before` : ""}`}>
      {!soon.length && <p class="quiet">Nothing is about to fade.</p>}
      <ul class="fading">
        {soon.map((each) => (
          <li key={each.id} class={each.fades! <= now ? "gone" : ""}>
            <a href={changed({ as_of: new Date(Math.floor(each.fades! / DAY + 1) * DAY).toISOString().replace(".000Z", "Z"), focus: each.source })}>
              <Text of={name(each.source)} cut={30} /> <span class="quiet">{words(each.type)}</span> <Text of={name(each.target)} cut={30} />
            </a>
            <span class="quiet">
              {each.fades! <= now ? "faded" : "fades"} {dayOf(each.fades!)}
            </span>
          </li>
        ))}
      </ul>
      <p class="quiet hint">A relation fades where nobody confirms it. Choose one to stand on the day after; choose a star for what is known about it.</p>
    </Section>
  );
}

interface AboutProps {
  body: Body;
  at: string | null;
  all: Map<string, Body>;
  ordered: Body[];
  close: () => void;
  reload: () => void;
  children?: ComponentChildren;
}

function About({ body, at, all, ordered, close, reload, children }: AboutProps) {
  const session = useSession();
  const { namespace } = session;
  const { known_at } = times(usePlace());
  const { star } = body;
  const mentions = useLoad(`mentions ${star.id} ${at} ${known_at}`, (signal) =>
    call("get", "/api/v1/memories", { query: { entity: star.id, limit: 8, as_of: at ?? undefined, known_at: known_at ?? undefined }, namespace, signal }),
  );
  const [pinned, pin] = useState(star.pinned);
  const [splitting, split] = useState(false);
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
        {mayWrite(session) && (
          <button type="button" class="small" onClick={() => split(true)}>
            Split…
          </button>
        )}
        <a href={href("ask", { q: `What about ${star.name}?`, entity: star.name })}>Ask</a>
        <button type="button" class="small" onClick={close} aria-label="Back to the whole graph">
          ×
        </button>
      </div>
      <Find all={ordered.filter((each) => each !== body)} choose={(id) => go(changed({ to: id }))} label="Ways to…" />
      {children}
      {splitting && <Split body={body} all={all} memories={mentions.data?.items ?? []} close={() => split(false)} done={reload} />}
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
