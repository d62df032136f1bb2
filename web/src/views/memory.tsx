/** A memory in two times, or a list of all of them. */
import { call, type Schemas } from "../api/client";
import { useState } from "preact/hooks";
import { count, many, percent, when } from "../format";
import { Act, Empty, Loading, Section, Trouble } from "../parts/common";
import { Difference } from "../parts/difference";
import { Edit, Erase } from "../parts/edit";
import { usePages } from "../parts/more";
import { Operations } from "../parts/operations";
import { Other } from "../parts/other";
import { Picture } from "../parts/picture";
import { Recalled, Resting } from "../parts/use";
import { Whom } from "../parts/whom";
import { Text } from "../parts/text";
import { beliefs, moments, type Memory } from "../parts/twotimes";
import { mayWrite, useSession } from "../session";
import { changed, go, href, times, useLoad, usePlace, type Loaded } from "../state";

const PAGE = 50;
const MOST = 200;
const MOMENTS = 24;
const LONG = 280; // characters that are too many for a headline
const LAYERS = ["domain", "concept", "fact", "episode"];

export function Memories() {
  const id = usePlace().params.get("id");
  return id ? <OneMemory key={id} id={id} /> : <Browse />;
}

function Browse() {
  const place = usePlace();
  const { namespace } = useSession();
  const { as_of, known_at } = times(place);
  const category = place.params.get("category") ?? undefined;
  const entity = place.params.get("entity") ?? undefined;
  const filter = { category, entity, as_of: as_of ?? undefined, known_at: known_at ?? undefined };
  const { first, items, more } = usePages(`memories ${namespace} ${JSON.stringify(filter)}`, PAGE, (query, signal) =>
    call("get", "/api/v1/memories", { query: { ...query, ...filter }, namespace, signal }),
  );
  return (
    <div>
      <h1>Memories</h1>
      {(category || entity) && (
        <p class="chips">
          {category && (
            <a class="chip on" href={changed({ category: null })} aria-label={`Without the filter category ${category}`}>
              category: <Text of={category} cut={60} /> <span aria-hidden="true">×</span>
            </a>
          )}
          {entity && (
            <a class="chip on" href={changed({ entity: null })} aria-label={`Without the filter entity ${entity}`}>
              mentions: <Text of={entity} cut={60} /> <span aria-hidden="true">×</span>
            </a>
          )}
        </p>
      )}
      <Trouble error={first.error} />
      {!first.data && !first.error && <Loading what="Reading…" />}
      {first.data && !items.length && <Empty>{as_of || known_at ? "Nothing was true then, as it was known then." : "No memory is here yet. An agent writes the first one: the lines that connect it stand on the page Home."}</Empty>}
      <ul class="memories" aria-busy={first.loading}>
        {items.map((each) => (
          <li key={each.id}>
            <a href={href("memory", { id: each.id })}>
              <Text of={each.content} cut={240} />
            </a>
            <span class="quiet">
              <Text of={each.category} cut={50} /> · since {when(each.valid_from)}
              {each.version > 1 && ` · version ${each.version}`}
            </span>
          </li>
        ))}
      </ul>
      {more}
    </div>
  );
}

/** Everything about one lineage that the page shows. */
async function read(id: string, namespace: string, signal: AbortSignal) {
  const path = { id };
  const history = await call("get", "/api/v1/memories/{id}/history", { path, query: { limit: MOST }, namespace, signal });
  const named = history.items.find((each) => each.id === id || each.lineage === id);
  const own = named ?? (await call("get", "/api/v1/memories/{id}", { path, namespace, signal }));
  const times = moments(history.items).slice(-MOMENTS);
  const at = await Promise.all(
    times.map(async (moment) => ({
      moment,
      versions: (
        await call("get", "/api/v1/memories/{id}/history", { path, query: { limit: MOST, known_at: new Date(moment + 1).toISOString() }, namespace, signal })
      ).items,
    })),
  );
  return { own, versions: history.items, believed: beliefs(at) };
}

function OneMemory({ id }: { id: string }) {
  const session = useSession();
  const place = usePlace();
  const now = times(place);
  const found = useLoad(`memory ${session.namespace} ${id}`, (signal) => read(id, session.namespace, signal));
  if (found.error && !found.data) return <Trouble error={found.error}>{found.error.status === 404 && "It was erased, or is of another namespace."}</Trouble>;
  if (!found.data) return <Loading what="Reading the memory…" />;
  const { own, versions, believed } = found.data;
  const a = place.params.get("a") ?? "";
  const b = place.params.get("b") ?? "";
  const known = now.known_at ? Date.parse(now.known_at) : Infinity;
  const moment = now.as_of ? Date.parse(now.as_of) : Date.now();
  const then = believed.find((each) => each.from <= moment && moment < each.to && each.known <= known && known < each.until)
    ?? (known === Infinity ? believed.find((each) => each.from <= moment && moment < each.to && each.until === Infinity) : undefined);
  const past = now.as_of !== null || now.known_at !== null;
  const shown = then?.memory ?? (past ? undefined : own);
  const even = place.params.get("scale") !== "true";
  const reload = () => {
    found.reload();
    session.reload();
  };
  return (
    <article class="memory">
      <p class="crumbs quiet">
        <a href={href("memory")}>Memories</a> / <a href={href("memory", { category: own.category })}><Text of={own.category} cut={80} /></a> / <Text of={own.lineage} cut={80} />
      </p>
      <h1 class={`content${(shown?.content.length ?? 0) > LONG ? " long" : ""}`}>{shown ? <Text of={shown.content} cut={1200} /> : <span class="quiet">Nothing was true then, as it was known then.</span>}</h1>
      <Trouble error={found.error} />
      <p class="facts">
        {shown && <span class="badge">version {shown.version}</span>}
        {own.status === "forgotten" && <span class="badge warn">forgotten</span>}
        {own.tags.map((tag) => (
          <a key={tag} class="chip" href={href("ask", { q: own.content.slice(0, 200), tag })}>
            #<Text of={tag} cut={40} />
          </a>
        ))}
        {shown && (
          <span class="quiet">
            true {when(shown.valid_from)} – {when(shown.valid_to, "now")} · {LAYERS[shown.layer] ?? `layer ${shown.layer}`} · confidence {percent(shown.confidence)} · importance {percent(shown.importance)}
            <Whom of={shown} />
          </span>
        )}
      </p>
      {mayWrite(session) && <Acts of={versions.find((each) => each.current) ?? own} versions={versions} reload={reload} />}
      <Section
        title="In two times"
        note={
          <>
            {many(versions.length, "version")} ·{" "}
            <button type="button" class="link" aria-pressed={!even} onClick={() => go(changed({ scale: even ? "true" : null }), { replace: true })}>
              {even ? "true to scale" : "evenly spaced"}
            </button>
          </>
        }
      >
        <Picture of={believed} even={even} chosen={[a, b]} choose={(version) => go(changed({ a: b && b !== version ? b : a, b: version }), { replace: true })} />
        <p class="quiet hint">Drag, or use the arrow keys: the whole page shows that moment. Filled is what is believed now, hatched what was believed once.</p>
      </Section>
      <div class="columns">
        <div>
          <Told versions={versions} a={a} b={b} reload={reload} />
        </div>
        <div>
          <Standing id={own.id} />
          <Links id={own.id} />
          <Resting id={(shown ?? own).id} />
          <Recalled id={(shown ?? own).id} />
        </div>
      </div>
    </article>
  );
}

function Acts({ of, versions, reload }: { of: Memory; versions: Memory[]; reload: () => void }) {
  const { namespace } = useSession();
  const [open, show] = useState<"edit" | "erase" | null>(null);
  const path = { id: of.id };
  const forgotten = of.status === "forgotten";
  const act = (method: "delete" | "post") => async () => {
    if (method === "delete") await call("delete", "/api/v1/memories/{id}", { path, namespace });
    else await call("post", "/api/v1/memories/{id}/restore", { path, namespace });
    reload();
  };
  const close = () => show(null);
  return (
    <div class="acts">
      {!forgotten && (
        <button type="button" onClick={() => show("edit")}>
          Edit…
        </button>
      )}
      {forgotten ? (
        <Act run={act("post")} done="Restored.">
          Restore
        </Act>
      ) : (
        <Act run={act("delete")} done="Forgotten. It can be restored, or the operation undone.">
          Forget
        </Act>
      )}
      <button type="button" class="danger" onClick={() => show("erase")}>
        Erase…
      </button>
      {open === "edit" && <Edit of={of} close={close} reload={reload} />}
      {open === "erase" && <Erase of={of} versions={versions.length} close={close} />}
    </div>
  );
}

type Operation = Schemas["OperationOut"];
function Versions({ of, wrote, a, b }: { of: Memory[]; wrote: Map<string, Operation | undefined> | undefined; a: string; b: string }) {
  const ordered = [...of].sort((x, y) => y.version - x.version);
  const newer = ordered.find((each) => each.id === b) ?? ordered[0];
  const older = ordered.find((each) => each.id === a && each.id !== newer?.id) ?? ordered[ordered.findIndex((each) => each.id === newer?.id) + 1];
  return (
    <Section title="Versions" note={older && newer ? `what version ${newer.version} changed` : undefined}>
      {older && newer && <Difference before={older.content} after={newer.content} />}
      <table class="versions">
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">compare</span>
            </th>
            <th scope="col">version</th>
            <th scope="col">true</th>
            <th scope="col">written</th>
          </tr>
        </thead>
        <tbody>
          {ordered.map((each) => (
            <tr key={each.id} class={each.current ? "" : "gone"}>
              <td class="pick">
                <input type="radio" name="older" aria-label={`Compare from version ${each.version}`} checked={each.id === older?.id} onChange={() => go(changed({ a: each.id }), { replace: true })} />
                <input type="radio" name="newer" aria-label={`Compare to version ${each.version}`} checked={each.id === newer?.id} onChange={() => go(changed({ b: each.id }), { replace: true })} />
              </td>
              <th scope="row">
                <span class="badge">v{each.version}</span> <Text of={each.content} cut={140} />
                {each.valid_to === each.valid_from && <span class="badge warn">corrected: never true</span>}
                {each.status === "forgotten" && <span class="badge warn">forgotten</span>}
              </th>
              <td>
                {each.valid_to === each.valid_from ? (
                  "at no time"
                ) : (
                  <>
                    {when(each.valid_from)} –<br />
                    {when(each.valid_to, "now")}
                  </>
                )}
              </td>
              <td>
                {when(each.recorded_at)}
                <Writer of={wrote?.get(each.id)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

function Writer({ of }: { of: Operation | undefined }) {
  if (!of) return null;
  return (
    <div class="writer">
      <a href={href("changes", { id: of.id })}>
        by <Text of={of.agent ?? "an owner"} cut={30} />
      </a>{" "}
      through {of.via}
    </div>
  );
}

/** Its versions, who wrote each through what, and all that was done with it, with the undo of each. */
function Told({ versions, a, b, reload }: { versions: Memory[]; a: string; b: string; reload: () => void }) {
  const { namespace } = useSession();
  const turn = versions.map((each) => each.updated_at + each.superseded_at + each.status).join();
  const asked = versions.map((each) => each.id).slice(-8);
  const found = useLoad(`past ${asked.join()} ${turn}`, async (signal) => {
    const pages = await Promise.all(asked.map((subject) => call("get", "/api/v1/operations", { query: { subject, limit: 20 }, namespace, signal })));
    const all = new Map(pages.flatMap((page) => page.items).map((each) => [each.id, each]));
    const wrote = new Map(asked.map((id, at) => [id, pages[at]!.next_cursor ? undefined : pages[at]!.items.at(-1)]));
    return { wrote, items: [...all.values()].sort((x, y) => Date.parse(y.started_at) - Date.parse(x.started_at) || (x.id < y.id ? 1 : -1)) };
  });
  return (
    <>
      <Versions of={versions} wrote={found.data?.wrote} a={a} b={b} />
      <Past found={found} reload={reload} />
    </>
  );
}

function Past({ found, reload }: { found: Loaded<{ items: Operation[] }>; reload: () => void }) {
  return (
    <Section title="What was done with it" note={found.data && many(found.data.items.length, "operation")}>
      <Trouble error={found.error} />
      {found.data?.items.length === 0 && <p class="quiet">The log does not reach back to it.</p>}
      <Operations
        items={found.data?.items ?? []}
        reload={() => {
          found.reload();
          reload();
        }}
      />
    </Section>
  );
}

function Standing({ id }: { id: string }) {
  const { namespace } = useSession();
  const { as_of, known_at } = times(usePlace());
  const query = { as_of: as_of ?? undefined, known_at: known_at ?? undefined };
  const found = useLoad(`standing ${namespace} ${id} ${as_of} ${known_at}`, async (signal) => {
    const [above, under] = await Promise.all([
      call("get", "/api/v1/memories/{id}/ancestors", { path: { id }, query, namespace, signal }),
      call("get", "/api/v1/memories/{id}/subtree", { path: { id }, query: { ...query, limit: PAGE }, namespace, signal }),
    ]);
    return { above: above.items.toReversed(), under: under.items.filter((each) => each.depth === 1), below: under.items.filter((each) => each.depth > 0).length, more: under.next_cursor !== null };
  });
  const line = (each: Schemas["PlacedMemory"]) => (
    <li key={each.id}>
      <a href={href("memory", { id: each.id })}>
        <Text of={each.content} cut={120} />
      </a>
    </li>
  );
  return (
    <Section title="Where it stands" note={found.data && found.data.below > 0 ? `${count(found.data.below)}${found.data.more ? "+" : ""} below` : undefined}>
      {found.error?.status === 404 ? <p class="quiet">It had no place then.</p> : <Trouble error={found.error} />}
      {found.data && !found.data.above.length && !found.data.under.length && <p class="quiet">At the top, with nothing below.</p>}
      {found.data && found.data.above.length > 0 && <ol class="above">{found.data.above.map(line)}</ol>}
      {found.data && found.data.under.length > 0 && (
        <>
          <h3>Below it</h3>
          <ul class="under">{found.data.under.slice(0, 12).map(line)}</ul>
        </>
      )}
    </Section>
  );
}

function Links({ id }: { id: string }) {
  const { namespace } = useSession();
  const { as_of, known_at } = times(usePlace());
  const found = useLoad(`links ${namespace} ${id} ${as_of} ${known_at}`, async (signal) => {
    const page = await call("get", "/api/v1/memories/{id}/links", { path: { id }, query: { limit: PAGE, as_of: as_of ?? undefined, known_at: known_at ?? undefined }, namespace, signal });
    return page.items;
  });
  const all = found.data ?? [];
  return (
    <Section title="Links" note={all.length ? many(all.length, "link") : undefined}>
      {found.error?.status === 404 ? <p class="quiet">It had none then.</p> : <Trouble error={found.error} />}
      {found.data && !all.length && <p class="quiet">None.</p>}
      <ul class="links">
        {all.map((each) => {
          const out = each.source_id === id;
          const other = out ? each.target_id : each.source_id;
          return (
            <li key={`${each.source_id} ${each.target_id} ${each.type}`}>
              <span class="badge">{out ? "→" : "←"} <Text of={each.type} cut={40} /></span> <Other id={other} /> <span class="quiet">{percent(each.strength)}</span>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}
