/** Operations: who changed what, with before and after, and an undo that can itself be undone. */
import { useState } from "preact/hooks";
import { call, Fault, type Schemas } from "../api/client";
import { ago, many, when, words } from "../format";
import { mayWrite, useSession } from "../session";
import { href, say, useLoad } from "../state";
import { Act, Loading, sentence, Trouble } from "./common";
import { Text } from "./text";

type Operation = Schemas["OperationOut"];
type Change = Schemas["OperationChange"];
const MOST = 50;
const FIRST = ["memory", "entity", "edge", "attribute", "link"];

/** {"memory.created": 2} as "2 memories created". What was written for its own sake comes first. */
export function summary(changes: Operation["changes"]): string {
  const rank = (name: string): number => {
    const at = FIRST.indexOf(name.split(".")[0]!);
    return at < 0 ? FIRST.length : at;
  };
  const parts = Object.entries(changes).sort(([a], [b]) => rank(a) - rank(b)).map(([name, n]) => {
    const [kind = "", action = ""] = name.split(".");
    return `${many(n, words(kind), plural(words(kind)))} ${action}`;
  });
  return parts.join(", ") || "nothing that is kept";
}
const plural = (word: string): string => (/[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : /s$/.test(word) ? word : `${word}s`);

export function Operations({ items, reload, open }: { items: Operation[]; reload: () => void; open?: string | null }) {
  return (
    <ol class="operations">
      {items.map((each) => (
        <Row key={each.id} of={each} reload={reload} open={open === each.id} />
      ))}
    </ol>
  );
}

function Row({ of, reload, open }: { of: Operation; reload: () => void; open: boolean }) {
  const session = useSession();
  const [shown, show] = useState(open);
  const [conflict, clash] = useState<string | null>(null);
  const [foreseen, foresee] = useState<Schemas["OperationUndone"] | null>(null);
  const path = { id: of.id };
  const preview = async () => foresee(await call("post", "/api/v1/operations/{id}/undo", { path, body: { dry_run: true }, namespace: session.namespace }));
  const undo = (skip_changed: boolean) => async () => {
    try {
      await call("post", "/api/v1/operations/{id}/undo", { path, body: { skip_changed }, namespace: session.namespace });
    } catch (error) {
      if (!(error instanceof Fault) || error.status !== 409) throw error;
      clash(error.message);
      if (!of.undone_by && !skip_changed) await preview().catch(() => undefined);
      return;
    }
    clash(null);
    foresee(null);
    say("Undone. The undoing is an operation too, and can be undone.");
    reload();
    session.reload();
  };
  return (
    <li class={of.undone_by ? "undone" : ""}>
      <div class="operation">
        <button type="button" class="disclose" aria-expanded={shown} onClick={() => show(!shown)}>
          <span class="what">{of.undoes ? "undo" : words(of.action)}</span> <span class="sum">{summary(of.changes)}</span>
        </button>
        <span class="quiet by">
          <Text of={of.agent ?? "an owner"} cut={30} /> · {of.via} · <time dateTime={of.started_at} title={when(of.started_at)}>{ago(of.started_at)}</time>
        </span>
        {of.undone_by ? (
          <span class="badge">undone</span>
        ) : (
          mayWrite(session) && (
            <Act class="small" run={undo(false)} aria-label={`Undo: ${words(of.action)}, ${summary(of.changes)}`}>
              Undo
            </Act>
          )
        )}
      </div>
      {conflict && (
        <div class="trouble" role="alert">
          {sentence(conflict)}{" "}
          {foreseen && (
            <Act class="small" run={undo(true)}>
              Undo the rest
            </Act>
          )}
        </div>
      )}
      {foreseen && <Foreseen of={foreseen} />}
      {shown && mayWrite(session) && !of.undone_by && !foreseen && (
        <p class="foresee">
          <Act class="small" run={preview}>
            What would undoing do?
          </Act>
        </p>
      )}
      {shown && <Details id={of.id} />}
    </li>
  );
}

function Details({ id }: { id: string }) {
  const { namespace } = useSession();
  const found = useLoad(`changes of ${id}`, (signal) =>
    call("get", "/api/v1/operations/{id}/changes", { path: { id }, query: { limit: MOST }, namespace, signal }),
  );
  if (found.error) return <Trouble error={found.error} />;
  if (!found.data) return <Loading what="Reading what it changed…" />;
  return (
    <ul class="changed">
      {found.data.items.map((each) => (
        <li key={each.position}>
          <span class="badge">
            {words(each.kind)} {each.action}
          </span>{" "}
          {each.content !== null && each.kind === "memory" && each.subject_id ? (
            <a href={href("memory", { id: each.subject_id })}>
              <Text of={each.content} cut={160} />
            </a>
          ) : (
            each.content !== null && <Text of={each.content} cut={160} />
          )}
          <Fields of={each} />
        </li>
      ))}
      {found.data.next_cursor && <li class="quiet">and more</li>}
    </ul>
  );
}

/** What undoing would do, and what stands in its way: a dry run of it. */
function Foreseen({ of }: { of: Schemas["OperationUndone"] }) {
  const undone = Object.entries(of.undone).map(([kind, n]) => many(n, words(kind), plural(words(kind))));
  return (
    <div class="changed foreseen" role="status">
      <p>{undone.length ? `As before would be: ${undone.join(", ")}.` : "Nothing would be as before."}</p>
      {of.conflicts.length > 0 && (
        <>
          <h2 class="minor">Changed since, and so in the way</h2>
          <ul>
            {of.conflicts.map((each) => (
              <li key={`${each.kind} ${each.name}`}>
                <span class="badge warn">{words(each.kind)}</span> <Text of={each.content ?? each.name} cut={160} />{" "}
                {each.operation_id && <a href={href("changes", { id: each.operation_id })}>by {words(each.action ?? "an operation")}</a>}
              </li>
            ))}
          </ul>
        </>
      )}
      {of.skipped.map((each) => (
        <p key={each.kind + each.reason} class="quiet">
          {many(each.count, words(each.kind), plural(words(each.kind)))} would stay: {each.reason}.
        </p>
      ))}
      <Things items={of.changes} more={of.more} />
    </div>
  );
}

/** Things that a dry run would change or erase, in words. */
export function Things({ items, more }: { items: Schemas["ForeseenChange"][]; more: number }) {
  return (
    <ul class="things">
      {items.map((each, at) => (
        <li key={at}>
          <span class="badge">
            {words(each.kind)} {each.action !== "erased" && each.action}
          </span>{" "}
          {each.content !== null && <Text of={each.content} cut={160} />}
          {each.action !== "erased" && <Fields of={each} />}
        </li>
      ))}
      {more > 0 && <li class="quiet">and {many(more, "other")}</li>}
    </ul>
  );
}

const UNSAID = new Set(["namespace_id", "updated_at", "id"]);
function Fields({ of }: { of: Pick<Change, "before" | "after"> }) {
  const before = (of.before ?? {}) as Record<string, unknown>;
  const after = (of.after ?? {}) as Record<string, unknown>;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !UNSAID.has(name) && (before[name] ?? null) !== (after[name] ?? null));
  if (!names.length) return null;
  return (
    <dl class="fields">
      {names.map((name) => (
        <div key={name}>
          <dt>{words(name)}</dt>
          <dd>
            {of.before && <del><Text of={said(before[name])} cut={200} /></del>} {of.after && <ins><Text of={said(after[name])} cut={200} /></ins>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
const said = (value: unknown): string => (value === null || value === undefined ? "nothing" : typeof value === "string" ? value : JSON.stringify(value));
