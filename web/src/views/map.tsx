/** All memories of a namespace by their meaning: what is alike stands together. Adding one moves no other. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, type Schemas } from "../api/client";
import { count, many, when, words } from "../format";
import { type Camera, cameraText, parseCamera } from "../parts/camera";
import { CloudPicture } from "../parts/cloudpicture";
import { Act, Empty, Loading, Section, Trouble, useField } from "../parts/common";
import { type Cloud, colour, type Colouring, COLOURINGS, fetchCloud, idOf, KINDS, type Method, pointOf } from "../parts/projection";
import { Layout } from "../parts/layout";
import { csv, save } from "../parts/save";
import { Text } from "../parts/text";
import { useSession } from "../session";
import { changed, go, href, times, useLoad, usePlace } from "../state";

const LIGHT = 20;
const LISTED = 12;
const SETTLE = 300;
const MOST = 400; // chosen points that an address holds

export function MemoryMap() {
  const place = usePlace();
  const { namespace } = useSession();
  const { as_of, known_at } = times(place);
  const dims = place.params.get("dims") === "3" ? 3 : 2;
  const method = place.params.get("method") === "umap" ? "umap" : "pca";
  const clustered = useRef(false); // once they were asked for, they come with every map
  clustered.current ||= place.params.get("by") === "cluster";
  const clusters = clustered.current;
  const cloud = useLoad(`cloud ${namespace} ${method} ${dims} ${known_at} ${clusters}`, (signal) => fetchCloud(namespace, method, dims, known_at, clusters, signal));
  const query = place.params.get("q")?.trim();
  const lit = useLoad(`light ${namespace} ${query} ${as_of} ${known_at}`, (signal) =>
    query ? call("post", "/api/v1/recall", { body: { query, k: LIGHT, as_of, known_at, log: false }, namespace, signal }) : Promise.resolve(null),
  );
  return (
    <div class="constellation map">
      <h1>Map</h1>
      <Trouble error={cloud.error ?? lit.error} />
      {cloud.data === undefined && !cloud.error && <Loading what="Reading the map…" />}
      {!cloud.data?.points && method === "umap" && (
        <div class="bar-line">
          <Choices method={method} dims={dims} />
        </div>
      )}
      {cloud.data === null && (
        <Empty>
          <strong>No map by UMAP was made.</strong> It shows clusters that principal components do not, and takes a job of seconds to minutes.
        </Empty>
      )}
      {cloud.data && cloud.data.points === 0 && (
        <Empty>
          <strong>There is nothing to draw.</strong> {known_at ? "Nothing was known then." : "Memories stand on the map as soon as they have a vector."}
        </Empty>
      )}
      {cloud.data && cloud.data.points > 0 && <Drawn cloud={cloud.data} moment={as_of ? Date.parse(as_of) : Date.now()} found={query ? (lit.data ?? null) : null} busy={cloud.loading || lit.loading} />}
      {method === "umap" && cloud.data !== undefined && <Layout key={dims} dims={dims} cloud={cloud.data} made={cloud.reload} />}
    </div>
  );
}

function Drawn({ cloud, moment, found, busy }: { cloud: Cloud; moment: number; found: Schemas["RecallOut"] | null; busy: boolean }) {
  const { params } = usePlace();
  const { namespace } = useSession();
  const by = COLOURINGS.find((each) => each === params.get("by")) ?? "category";
  const [lasso, draw] = useState(false);
  const [camera, place] = useState<Camera>(() => parseCamera(params.get("at")));
  const canvas = useRef<HTMLCanvasElement>(null);
  const settle = useRef(0);
  const numbers = useMemo(() => new Map(Array.from({ length: cloud.points }, (_, n) => [idOf(cloud, n), n])), [cloud]);
  const colouring = useMemo(() => colour(cloud, by), [cloud, by]);
  const chosen = useMemo(() => (params.get("chosen")?.split(",") ?? []).map((id) => numbers.get(id)).filter((n) => n !== undefined), [params.get("chosen"), numbers]);
  const [larger, enlarge] = useState<number[] | null>(null); // more than an address holds
  const shown = larger ?? chosen;
  const hits = useMemo(() => (found?.results ?? []).flatMap((each) => (each.tier === "memory" && numbers.has(each.id) ? [numbers.get(each.id)!] : [])), [found, numbers]);
  const states = useMemo(() => {
    const made = new Uint8Array(cloud.points);
    const seconds = moment / 1000;
    for (let n = 0; n < made.length; n++) made[n] = cloud.from[n]! <= seconds && seconds < cloud.to[n]! ? 1 : 0;
    for (const n of found ? hits : shown) if (made[n]) made[n] = 2;
    return made;
  }, [cloud, moment, found, hits, shown]);
  const valid = useMemo(() => states.reduce((all, each) => all + (each ? 1 : 0), 0), [states]);
  const counts = useMemo(() => {
    const made = new Array<number>(KINDS).fill(0);
    for (let n = 0; n < states.length; n++) if (states[n]) made[colouring.of[n]!]!++;
    return made;
  }, [states, colouring]);
  const move = (to: Camera) => {
    place(to);
    clearTimeout(settle.current);
    settle.current = window.setTimeout(() => go(changed({ at: cameraText(to) }), { replace: true }), SETTLE);
  };
  useEffect(() => () => clearTimeout(settle.current), []);
  useEffect(() => place(parseCamera(params.get("at"))), [params.get("at")]);
  const choose = (points: number[]) => {
    enlarge(points.length > MOST ? points : null);
    draw(false);
    go(changed({ chosen: points.length && points.length <= MOST ? points.map((n) => idOf(cloud, n)).join(",") : null }));
  };
  const picture = () => canvas.current?.toBlob((made) => made && save(`map-${namespace}.png`, "image/png", made));
  return (
    <>
      <div class="bar-line">
        <Choices method={cloud.method} dims={cloud.dims} />
        <label class="size">
          Colour
          <select value={by} onChange={(event) => go(changed({ by: event.currentTarget.value === "category" ? null : event.currentTarget.value }))}>
            {COLOURINGS.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <button type="button" class="small" aria-pressed={lasso} onClick={() => draw(!lasso)}>
          Lasso
        </button>
        <Search />
        <p class="quiet" role="status" aria-busy={busy}>
          {many(valid, "memory", "memories")} true at {when(moment)}
          {found && `; ${count(hits.filter((n) => states[n]).length)} light up`}
        </p>
      </div>
      <div class="field">
        <CloudPicture cloud={cloud} colouring={colouring} states={states} lit={found !== null || shown.length > 0} named={by === "cluster"} camera={camera} lasso={lasso} move={move} pick={(n) => choose(n === null ? [] : [n])} choose={choose} canvas={canvas} />
        <aside>
          {found ? (
            <Chosen title="What lights up" cloud={cloud} points={hits.filter((n) => states[n])} clear={() => go(changed({ q: null }))} />
          ) : shown.length ? (
            <Chosen title="Chosen" cloud={cloud} points={shown.filter((n) => states[n])} clear={() => choose([])} />
          ) : (
            <p class="quiet hint">
              Each point is a memory; what means something similar stands near. Click one, or draw a loop with the lasso. {cloud.dims === 3 ? "Drag to turn it, with Shift to move it." : "Drag to move it."}
            </p>
          )}
        </aside>
      </div>
      <Legend by={by} names={colouring.names} counts={counts} ramp={colouring.ramp} />
      <p class="quiet hint">
        {cloud.method === "umap" ? "UMAP" : "Principal components"} of the vectors of <Text of={cloud.model ?? ""} cut={60} />, found in {many(cloud.fitted ?? 0, "memory", "memories")}
        {cloud.added ? `; ${count(cloud.added)} placed between them since` : ""}
        {cloud.waiting ? `; ${count(cloud.waiting)} not placed yet` : ""}.{" "}
        <button type="button" class="link" onClick={picture}>
          Save the picture
        </button>
      </p>
    </>
  );
}

function Choices({ method, dims }: { method: Method; dims: number }) {
  return (
    <>
      <span class="choices" role="group" aria-label="Dimensions">
        {[2, 3].map((each) => (
          <button key={each} type="button" class="small" aria-pressed={dims === each} onClick={() => go(changed({ dims: each === 3 ? 3 : null, at: null }))}>
            {each}-D
          </button>
        ))}
      </span>
      <span class="choices" role="group" aria-label="Method">
        {(["pca", "umap"] as const).map((each) => (
          <button key={each} type="button" class="small" aria-pressed={method === each} onClick={() => go(changed({ method: each === "umap" ? each : null, at: null }))}>
            {each.toUpperCase()}
          </button>
        ))}
      </span>
    </>
  );
}

function Search() {
  const { params } = usePlace();
  const asked = params.get("q") ?? "";
  const field = useField(asked);
  return (
    <form
      class="find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        go(changed({ q: field.current!.value.trim() || null }));
      }}
    >
      <input ref={field} type="search" name="light" defaultValue={asked} placeholder="Light up what answers" aria-label="Light up what answers" />
    </form>
  );
}

function Legend({ by, names, counts, ramp }: { by: Colouring; names: string[]; counts: number[]; ramp: boolean }) {
  return (
    <ul class="legend" aria-label={`Colours: ${by}`}>
      {names.map((name, at) =>
        name === "" ? null : (
          <li key={at} class="key">
            <span class={`dot ${ramp ? "ramp" : `hue-${at}`}`} style={ramp ? { "--part": String(0.25 + (0.75 * at) / 7) } : undefined} aria-hidden="true" /> <Text of={by === "layer" ? words(name) : name} cut={40} />{" "}
            <span class="quiet">{count(counts[at] ?? 0)}</span>
          </li>
        ),
      )}
    </ul>
  );
}

/** What was chosen, as a list: a page of it at a time. */
function Chosen({ title, cloud, points, clear }: { title: string; cloud: Cloud; points: number[]; clear: () => void }) {
  const { namespace } = useSession();
  const { known_at } = times(usePlace());
  const [most, more] = useState(LISTED);
  const ids = points.slice(0, most).map((n) => idOf(cloud, n));
  const read = (id: string, signal?: AbortSignal) => call("get", "/api/v1/memories/{id}", { path: { id }, query: { known_at: known_at ?? undefined }, namespace, signal }).catch(() => null);
  const found = useLoad(`chosen ${namespace} ${known_at} ${ids.join()}`, (signal) => Promise.all(ids.map((id) => read(id, signal))));
  const known = new Map((found.data ?? []).flatMap((each) => (each ? [[each.id, each] as const] : []))); // of the list before, until this one is read
  const all = () => points.map((n) => pointOf(cloud, n));
  return (
    <Section title={title} note={many(points.length, "memory", "memories")}>
      <ul class="attributes picked" aria-busy={found.loading}>
        {ids.map((id) => known.get(id)).map(
          (each) =>
            each && (
              <li key={each.id}>
                <a href={href("memory", { id: each.id })}>
                  <Text of={each.content} cut={160} />
                </a>{" "}
                <span class="quiet"><Text of={each.category} cut={40} /></span>
              </li>
            ),
        )}
      </ul>
      <div class="acts">
        {points.length > most && (
          <Act class="small" run={async () => more(most + LISTED)}>
            Show more
          </Act>
        )}
        <button type="button" class="small" onClick={() => save(`${title.toLowerCase()}.csv`, "text/csv", csv(all()))}>
          CSV
        </button>
        <button type="button" class="small" onClick={() => save(`${title.toLowerCase()}.json`, "application/json", JSON.stringify(all(), null, 1))}>
          JSON
        </button>
        <button type="button" class="small" onClick={clear}>
          Clear
        </button>
      </div>
    </Section>
  );
}
