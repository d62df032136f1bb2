/** Jobs: what is done later, how it stands, and what came of it; retry and cancel. */
import { call, type Schemas } from "../api/client";
import { ago, clock, count, many, when, words } from "../format";
import { mayWrite, useSession } from "../session";
import { changed, href, useLoad, usePlace } from "../state";
import { Act, Empty, Loading, Trouble } from "./common";
import { Outcome } from "./outcome";
import { useAgain, usePages, useWatch } from "./more";
import { Only } from "./only";
import { Text } from "./text";

type Job = Schemas["JobItem"];
const PAGE = 30;
const STATES: Job["state"][] = ["waiting", "running", "succeeded", "dead", "cancelled", "skipped"];
const OPEN = new Set(["waiting", "running"]);
const AGAIN = new Set(["waiting", "dead", "cancelled", "skipped"]);

export function Jobs({ turn }: { turn: number }) {
  const { params } = usePlace();
  const { namespace } = useSession();
  const state = STATES.find((each) => each === params.get("state"));
  const pages = usePages(`jobs ${namespace} ${state}`, PAGE, (query, signal) => call("get", "/api/v1/jobs", { query: { ...query, state }, namespace, signal }));
  const { first, items } = pages;
  useAgain(turn, pages.reload);
  useWatch(items.some((each) => OPEN.has(each.state)), pages.reload);
  const id = params.get("job");
  return (
    <>
      <div class="bar-line">
        <Only of="State" param="state" among={STATES} chosen={state} besides={{ job: null }} />
      </div>
      <Trouble error={first.error} />
      {!first.data && !first.error && <Loading what="Reading the jobs…" />}
      {first.data && !items.length && (
        <Empty>{state ? `No job is ${state}.` : "No job was asked for yet. Dreams, enrichment, checks for contradictions and tuning are jobs; they come here with their state."}</Empty>
      )}
      {id && first.data && !items.some((each) => each.id === id) && <Details id={id} alone />}
      <ol class="operations jobs">
        {items.map((each) => (
          <Row key={each.id} of={each} open={each.id === id} reload={pages.reload} />
        ))}
      </ol>
      {pages.more}
    </>
  );
}

function Row({ of, open, reload }: { of: Job; open: boolean; reload: () => void }) {
  const session = useSession();
  const { namespace } = session;
  const path = { id: of.id };
  const tries = [many(of.tries, "try", "tries"), of.failures && `${many(of.failures, "failure")}`, of.postponed && `put off ${many(of.postponed, "time")}`].filter(Boolean).join(", ");
  return (
    <li>
      <div class="operation">
        <a class="disclose" role="button" aria-expanded={open} href={changed({ job: open ? null : of.id })}>
          <span class="what">{words(of.kind)}</span> <State of={of.state} /> <span class="sum">{tries}</span>
        </a>
        <span class="quiet by">
          <time dateTime={of.created_at} title={when(of.created_at)}>
            {ago(of.created_at)}
          </time>
          {of.state === "waiting" && of.due_at && Date.parse(of.due_at) > Date.now() && <> · due {ago(of.due_at)}</>}
        </span>
        <span class="doing">
          {mayWrite(session) && AGAIN.has(of.state) && (
            <Act
              class="small"
              done={of.state === "waiting" ? "It runs now." : "It is tried again."}
              run={() => call("post", "/api/v1/jobs/{id}/retry", { path, namespace }).then(reload)}
              aria-label={`${of.state === "waiting" ? "Run now" : "Retry"}: ${words(of.kind)}`}
            >
              {of.state === "waiting" ? "Run now" : "Retry"}
            </Act>
          )}
          {mayWrite(session) && (OPEN.has(of.state) || of.state === "dead") && (
            <Act
              class="small"
              done={of.state === "running" ? "It is told to stop." : "Cancelled."}
              run={() => call("post", "/api/v1/jobs/{id}/cancel", { path, namespace }).then(reload)}
              aria-label={`Cancel: ${words(of.kind)}`}
            >
              Cancel
            </Act>
          )}
        </span>
      </div>
      {of.error && (
        <p class="wrong">
          <Text of={of.error} cut={400} />
        </p>
      )}
      {open && <Details id={of.id} turn={`${of.state} ${of.tries} ${of.finished_at}`} />}
    </li>
  );
}

const State = ({ of }: { of: Job["state"] }) => <span class={`badge state-${of}`}>{of === "dead" ? "given up" : of}</span>;

/** A job from near: its times, what its passes did, what its calls of a model took, and what it says it did. */
function Details({ id, turn = "", alone = false }: { id: string; turn?: string; alone?: boolean }) {
  const { namespace } = useSession();
  const found = useLoad(`job ${id} ${turn}`, (signal) => call("get", "/api/v1/jobs/{id}", { path: { id }, namespace, signal }));
  useWatch(found.data !== undefined && OPEN.has(found.data.state), found.reload);
  if (!found.data) return found.error ? <Trouble error={found.error} /> : <Loading what="Reading the job…" />;
  const job = found.data;
  const times = [
    ["asked for", job.created_at],
    ["begun", job.started_at],
    ["ended", job.finished_at],
  ] as const;
  return (
    <div class="changed">
      {alone && (
        <p>
          <strong>{words(job.kind)}</strong> <State of={job.state} />
        </p>
      )}
      <dl class="fields">
        {times.map(
          ([name, at]) =>
            at && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  {when(at)}, {clock(at)}
                </dd>
              </div>
            ),
        )}
        {Object.entries(job.arguments).map(([name, value]) => value !== null && <Field key={name} name={words(name)} value={value} />)}
        {job.calls.calls > 0 && (
          <div>
            <dt>model</dt>
            <dd>
              <a href={href("changes", { part: "models", job: job.id })}>{many(job.calls.calls, "call")}</a>, {count(job.calls.prompt_tokens + job.calls.completion_tokens)} tokens
              {job.calls.cost > 0 && `, cost ${job.calls.cost}`}
            </dd>
          </div>
        )}
        {Object.entries(job.result ?? {}).map(([name, value]) => value !== null && <Field key={name} name={words(name)} value={value} />)}
      </dl>
      {job.passes.length > 0 && (
        <ul>
          {job.passes.map((each) => (
            <li key={each.id}>
              <a href={href("changes", { part: "dreams", job: job.id, pass: each.id })}>{each.pass}</a> <Outcome of={each.outcome} />{" "}
              <span class="quiet">
                {count(each.seen)} seen, {count(each.proposed)} proposed, {count(each.refused.length)} refused, {count(each.applied)} applied
              </span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Field({ name, value }: { name: string; value: unknown }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Text of={typeof value === "string" ? value : JSON.stringify(value)} cut={400} />
      </dd>
    </div>
  );
}
