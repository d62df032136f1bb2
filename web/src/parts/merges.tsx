/** Entities that may be one: proposals with merge, what was merged or split, with undo; and splitting one in two. */
import { useState } from "preact/hooks";
import { call, type Schemas } from "../api/client";
import { many, percent, when } from "../format";
import { useSession } from "../session";
import { useLoad } from "../state";
import { Act, Dialog, Section, Trouble } from "./common";
import type { Body } from "./graph";
import { Text } from "./text";

const MOST = 50;

/** All that is proposed and was decided; `done` is called after each change. */
export function Merges({ done }: { done: () => void }) {
  const { namespace } = useSession();
  const found = useLoad(`merges ${namespace}`, async (signal) => {
    const [proposed, decided] = await Promise.all([
      call("post", "/api/v1/entities/merge-duplicates", { body: { dry_run: true, limit: MOST }, namespace, signal }),
      call("get", "/api/v1/merges", { query: { limit: MOST }, namespace, signal }),
    ]);
    return { proposed: proposed.items, decided: decided.items };
  });
  const after = () => {
    found.reload();
    done();
  };
  const merge = (each: Schemas["Duplicate"]) => async () => {
    await call("post", "/api/v1/entities/{ref}/merge", { path: { ref: each.kept_id }, body: { other: each.merged_id, reason: `proposed: alike in ${each.basis}` }, namespace });
    after();
  };
  const undo = (id: string) => async () => {
    await call("post", "/api/v1/merges/{id}/undo", { path: { id }, namespace });
    after();
  };
  return (
    <Section title="Merges" class="merges" note={found.data && `${many(found.data.proposed.length, "proposal")}`}>
      <Trouble error={found.error} />
      {found.data && !found.data.proposed.length && <p class="quiet">No two entities look like one.</p>}
      <ul class="pairs">
        {(found.data?.proposed ?? []).map((each) => (
          <li key={`${each.kept_id} ${each.merged_id}`} class="proposal">
            <span>
              <Text of={each.merged} cut={60} /> <span class="quiet">may be</span> <Text of={each.kept} cut={60} />{" "}
              <span class="quiet">
                alike in {each.basis}, {percent(each.score)}
              </span>
            </span>
            <Act class="small" run={merge(each)} done="Merged. It can be undone.">
              Merge
            </Act>
          </li>
        ))}
        {(found.data?.decided ?? []).map((each) => (
          <li key={each.id} class={each.undone_at ? "undone" : ""}>
            <span>
              <Text of={each.merged} cut={60} /> <span class="quiet">{each.kind === "merge" ? "went into" : "came out of"}</span> <Text of={each.kept} cut={60} />{" "}
              <span class="quiet">
                {when(each.decided_at)}
                {each.undone_at ? ", undone" : ""}
              </span>
            </span>
            {!each.undone_at && (
              <Act class="small" run={undo(each.id)} done="Undone.">
                Undo
              </Act>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

interface SplitProps {
  body: Body;
  all: Map<string, Body>;
  memories: Schemas["MemoryOut"][];
  close: () => void;
  done: (id: string) => void;
}

/** Make a new entity of a part of one: it is said which relations, memories and aspects are its own. */
export function Split({ body, all, memories, close, done }: SplitProps) {
  const { namespace } = useSession();
  const { star } = body;
  const [name, set] = useState("");
  const [own, take] = useState<Set<string>>(new Set());
  const turn = (id: string) => take((old) => (old.has(id) ? new Set([...old].filter((each) => each !== id)) : new Set([...old, id])));
  const chosen = (ids: string[]) => ids.filter((id) => own.has(id));
  const split = async () => {
    const asked = { name: name.trim(), edge_ids: chosen(body.relations.map((each) => each.id)), memory_ids: chosen(memories.map((each) => each.id)), aspect_ids: chosen(star.aspects.map((each) => each.id)) };
    const made = await call("post", "/api/v1/entities/{ref}/split", { path: { ref: star.id }, body: asked, namespace });
    close();
    done(made.id);
  };
  const choice = (id: string, text: string) => (
    <label key={id} class="check">
      <input type="checkbox" checked={own.has(id)} onChange={() => turn(id)} /> <Text of={text} cut={120} />
    </label>
  );
  return (
    <Dialog title="Two in one" close={close}>
      <label class="block">
        Name of the new entity
        <input value={name} maxLength={255} onInput={(event) => set(event.currentTarget.value)} />
      </label>
      <div class="parts">
        <h3>Its relations</h3>
        {body.relations.map((each) => choice(each.id, `${all.get(each.source)?.star.name ?? ""} ${each.type.replace(/_/g, " ")} ${all.get(each.target)?.star.name ?? ""}`))}
        {star.aspects.length > 0 && <h3>Its aspects</h3>}
        {star.aspects.map((each) => choice(each.id, each.name))}
        {memories.length > 0 && <h3>Memories that mention it</h3>}
        {memories.map((each) => choice(each.id, each.content))}
      </div>
      <div class="acts end">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <Act class="primary" run={split} done="Split. It can be undone." disabled={!name.trim()}>
          Split
        </Act>
      </div>
    </Dialog>
  );
}
