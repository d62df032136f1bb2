/** To change what a memory says: because the world changed, or because it was wrong. And to erase it for good. */
import { useState } from "preact/hooks";
import { call, type Schemas } from "../api/client";
import { many } from "../format";
import { useSession } from "../session";
import { go, href, say, useLoad } from "../state";
import { Act, Dialog, Trouble } from "./common";
import { Difference } from "./difference";
import { Things } from "./operations";
import { Text } from "./text";
import type { Memory } from "./twotimes";

export function Edit({ of, close, reload }: { of: Memory; close: () => void; reload: () => void }) {
  const { namespace } = useSession();
  const [text, set] = useState(of.content);
  const [wrong, correct] = useState(false);
  const [since, begin] = useState("");
  const save = async () => {
    const details = { category: of.category, tags: of.tags, layer: of.layer, importance: of.importance, metadata: of.metadata };
    const body = wrong
      ? { ...details, content: text, corrects: of.id }
      : { ...details, content: text, lineage: of.lineage, ...(since ? { valid_from: new Date(`${since}Z`).toISOString() } : {}) };
    await call("post", "/api/v1/memories", { body, namespace });
    say(wrong ? "Corrected: the version before was never true." : "Changed: the version before was true until then.");
    close();
    reload();
  };
  const same = text.trim() === "" || text === of.content;
  return (
    <Dialog title="Edit" close={close}>
      <label class="block">
        What it says
        <textarea rows={4} value={text} dir="auto" onInput={(event) => set(event.currentTarget.value)} />
      </label>
      <fieldset class="choice">
        <legend>Why</legend>
        <label>
          <input type="radio" name="why" checked={!wrong} onChange={() => correct(false)} />
          <span>
            <strong>It changed.</strong> What it said before was true until then.
          </span>
        </label>
        <label>
          <input type="radio" name="why" checked={wrong} onChange={() => correct(true)} />
          <span>
            <strong>It was wrong.</strong> This was true all the time; what it said before never was.
          </span>
        </label>
      </fieldset>
      {!wrong && (
        <label class="block">
          Since (UTC; empty: now)
          <input type="datetime-local" value={since} onInput={(event) => begin(event.currentTarget.value)} />
        </label>
      )}
      {!same && <Difference before={of.content} after={text} />}
      <div class="acts end">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <Act class="primary" run={save} disabled={same}>
          {wrong ? "Correct" : "Change"}
        </Act>
      </div>
    </Dialog>
  );
}

export function Erase({ of, versions, close }: { of: Memory; versions: number; close: () => void }) {
  const session = useSession();
  const { namespace } = session;
  const [all, widen] = useState(true);
  const [subtree, deepen] = useState(false);
  const [sure, confirm] = useState(false);
  const under = useLoad(`under ${of.id}`, async (signal) => {
    const page = await call("get", "/api/v1/memories/{id}/subtree", { path: { id: of.id }, query: { limit: 200 }, namespace, signal });
    return { items: page.items.filter((each) => each.depth > 0), more: page.next_cursor !== null };
  });
  const below = under.data?.items ?? [];
  const asked = { erase: true, versions: all ? ("all" as const) : ("this" as const), subtree: all && subtree };
  const goes = useLoad(`erase ${of.id} ${all} ${subtree}`, async (signal) => {
    const found = await call("delete", "/api/v1/memories/{id}", { path: { id: of.id }, query: { ...asked, dry_run: true }, namespace, signal });
    return found as Schemas["Erased"];
  });
  const waits = under.loading || goes.loading || !!under.error || !!goes.error; // for what it says yes to, which moves the rest down: nobody clicks beside
  const ask = (otherwise: () => void) => {
    otherwise();
    confirm(false); // it was said to something else
  };
  const erase = async () => {
    const receipt = await call("delete", "/api/v1/memories/{id}", { path: { id: of.id }, query: asked, namespace });
    say(`Erased for good: ${many((receipt as Schemas["Erased"]).erased, "version")}.`);
    close();
    session.reload();
    go(href("memory"));
  };
  return (
    <Dialog title="Erase for good" close={close}>
      <p>
        Erasing takes the text out of every table, the log included. It cannot be undone. To have it out of sight, forget it instead.
      </p>
      <blockquote>
        <Text of={of.content} cut={200} />
      </blockquote>
      <Trouble error={under.error} />
      {versions > 1 && (
        <label class="check">
          <input type="checkbox" checked={all} onChange={() => ask(() => widen(!all))} />
          all {many(versions, "version")}, not only version {of.version}
        </label>
      )}
      {all && below.length > 0 && (
        <label class="check">
          <input type="checkbox" checked={subtree} onChange={() => ask(() => deepen(!subtree))} />
          also the {below.length}
          {under.data?.more ? "+" : ""} below it: <Text of={below.slice(0, 3).map((each) => each.content).join("; ")} cut={160} />
        </label>
      )}
      <Trouble error={goes.error} />
      {goes.data && <Goes of={goes.data} busy={goes.loading} />}
      <label class="check">
        <input type="checkbox" checked={sure} disabled={waits} onChange={() => confirm(!sure)} />
        Yes, for good
      </label>
      <div class="acts end">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <Act class="danger" run={erase} disabled={!sure || waits}>
          Erase
        </Act>
      </div>
    </Dialog>
  );
}

/** What would go with it: a dry run. */
function Goes({ of, busy }: { of: Schemas["Erased"]; busy: boolean }) {
  const gone = of.changes.filter((each) => each.action === "erased");
  const others = of.changes.filter((each) => each.action !== "erased");
  return (
    <div class={`goes${busy ? " busy" : ""}`} aria-busy={busy}>
      <h3>What would go</h3>
      <p class="quiet">
        {many(of.erased, "version")}, and what rests on {of.erased === 1 ? "it" : "them"} alone; {many(Object.values(of.deleted).reduce((sum, n) => sum + n, 0), "row")} of the database in all.
      </p>
      <Things items={gone} more={of.more} />
      {others.length > 0 && (
        <>
          <h3>What would change</h3>
          <Things items={others} more={0} />
        </>
      )}
    </div>
  );
}
