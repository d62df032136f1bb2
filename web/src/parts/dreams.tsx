/** Passes of dreams: what the model was shown and proposed, what guards refused and why, what was applied, and its undo. */
import { call, type Schemas } from "../api/client";
import { ago, count, when, words } from "../format";
import { mayWrite, useSession } from "../session";
import { changed, go, href, useLoad, usePlace } from "../state";
import { Act, Empty, Loading, sentence, Trouble } from "./common";
import { useAgain, usePages } from "./more";
import { Only } from "./only";
import { Operations } from "./operations";
import { Outcome } from "./outcome";
import { Text } from "./text";

type Pass = Schemas["PassOut"];
type Step = { action?: string; ids?: string[]; guard?: string; reason?: string; content?: string };
const PAGE = 20;
const NAMES: Pass["pass"][] = ["memories", "entities", "preferences", "graph", "contradictions", "enrichment"];
const OF_MEMORIES = new Set<Pass["pass"]>(["memories", "preferences", "enrichment"]);
const SHOWN = 50;

export function Dreams({ turn }: { turn: number }) {
  const { params } = usePlace();
  const session = useSession();
  const { namespace } = session;
  const name = NAMES.find((each) => each === params.get("name"));
  const job_id = params.get("job") ?? undefined;
  const pages = usePages(`passes ${namespace} ${name} ${job_id}`, PAGE, (query, signal) =>
    call("get", "/api/v1/passes", { query: { ...query, name, job_id }, namespace, signal }),
  );
  const { first, items } = pages;
  useAgain(turn, pages.reload);
  const dream = (dry_run: boolean) => async () => {
    const made = await call("post", "/api/v1/dream", { body: { dry_run }, namespace });
    go(href("changes", { part: "jobs", job: made.job_id }));
  };
  return (
    <>
      <div class="bar-line">
        <Only of="Pass" param="name" among={NAMES} chosen={name} />
        {job_id && (
          <a class="chip on" href={changed({ job: null })} aria-label="Without the filter of one job">
            of one job <span aria-hidden="true">×</span>
          </a>
        )}
        {mayWrite(session) && (
          <>
            <Act class="small" run={dream(true)}>
              Dream, dry run
            </Act>
            <Act class="small" run={dream(false)}>
              Dream now
            </Act>
          </>
        )}
      </div>
      <Trouble error={first.error} />
      {!first.data && !first.error && <Loading what="Reading the reports…" />}
      {first.data && !items.length && (
        <Empty>No pass has run yet. A dream asks a language model what to merge, to place, to learn and to forget; what it proposed, what guards refused and what was applied stands here, with its undo.</Empty>
      )}
      <ol class="passes">
        {items.map((each) => (
          <Report key={each.id} of={each} open={params.get("pass") === each.id} reload={pages.reload} />
        ))}
      </ol>
      {pages.more}
    </>
  );
}

function Report({ of, open, reload }: { of: Pass; open: boolean; reload: () => void }) {
  const refused = of.refused as Step[];
  return (
    <li>
      <div class="operation">
        <a class="disclose" role="button" aria-expanded={open} href={changed({ pass: open ? null : of.id })}>
          <span class="what">{of.pass}</span> <Outcome of={of.outcome} />{" "}
          <span class="sum">
            {count(of.seen)} seen → {count(of.proposed)} proposed → {count(refused.length)} refused, {count(of.applied)} {of.outcome === "planned" ? "would be applied" : "applied"}
          </span>
        </a>
        <span class="quiet by">
          <a href={href("changes", { part: "jobs", job: of.job_id })}>its job</a> ·{" "}
          <time dateTime={of.finished_at} title={when(of.finished_at)}>
            {ago(of.finished_at)}
          </time>
        </span>
      </div>
      {of.error && (
        <p class="wrong">
          <Text of={of.error} cut={400} />
        </p>
      )}
      {open && (
        <div class="changed">
          <h2 class="minor">Refused by guards</h2>
          {refused.length === 0 && <p class="quiet">Nothing.</p>}
          <ul class="steps">
            {refused.slice(0, SHOWN).map((each, at) => (
              <li key={at}>
                <span class="badge warn">{words(each.guard ?? "guard")}</span> {words(each.action ?? "")}: <Text of={sentence(each.reason ?? "")} cut={400} />
                <About of={each} memories={OF_MEMORIES.has(of.pass)} />
              </li>
            ))}
          </ul>
          <h2 class="minor">{of.outcome === "planned" ? "Would be applied" : "Applied"}</h2>
          {of.changes.length === 0 && <p class="quiet">Nothing.</p>}
          <ul class="steps">
            {(of.changes as Step[]).slice(0, SHOWN).map((each, at) => (
              <li key={at}>
                <span class="badge">{words(each.action ?? "")}</span> {each.content && <Text of={each.content} cut={300} />}
                <About of={each} memories={OF_MEMORIES.has(of.pass)} />
              </li>
            ))}
          </ul>
          {Math.max(refused.length, of.changes.length) > SHOWN && <p class="quiet">The first {SHOWN} of each.</p>}
          {of.operation_id && <Applied id={of.operation_id} reload={reload} />}
        </div>
      )}
    </li>
  );
}

/** What a step is about: the memories, in words. */
function About({ of, memories }: { of: Step; memories: boolean }) {
  const ids = of.ids ?? [];
  if (!ids.length) return null;
  if (!memories) return <span class="quiet"> · {ids.map((id) => id.slice(0, 8)).join(", ")}</span>;
  return (
    <ul class="under">
      {ids.slice(0, 5).map((id) => (
        <li key={id}>
          <Memory id={id} />
        </li>
      ))}
      {ids.length > 5 && <li class="quiet">and {ids.length - 5} more</li>}
    </ul>
  );
}

function Memory({ id }: { id: string }) {
  const { namespace } = useSession();
  const found = useLoad(`named ${namespace} ${id}`, (signal) => call("get", "/api/v1/memories/{id}", { path: { id }, namespace, signal }));
  return <a href={href("memory", { id })}>{found.data ? <Text of={found.data.content} cut={160} /> : id.slice(0, 8)}</a>;
}

/** The operation that a pass was: what it changed, before and after, and the undo of the whole. */
function Applied({ id, reload }: { id: string; reload: () => void }) {
  const { namespace } = useSession();
  const found = useLoad(`operation ${id}`, (signal) => call("get", "/api/v1/operations/{id}", { path: { id }, namespace, signal }));
  const again = () => {
    found.reload();
    reload();
  };
  return (
    <>
      <h2 class="minor">Before and after, and undo of the pass</h2>
      <Trouble error={found.error} />
      {found.data && <Operations items={[found.data]} reload={again} />}
    </>
  );
}
