/** Calls of language models: what a day used of its budget, and each call. */
import { call, type Schemas } from "../api/client";
import { count, exact, many, when } from "../format";
import { useSession } from "../session";
import { changed, go, href, useLoad, usePlace } from "../state";
import { Empty, Loading, Parameter, Section, Trouble } from "./common";
import { useAgain, usePages, useWatch } from "./more";
import { Text } from "./text";

const PAGE = 30;

export function ModelCalls({ turn }: { turn: number }) {
  const { params } = usePlace();
  const { namespace } = useSession();
  const asked = params.get("day");
  const day = asked && !Number.isNaN(Date.parse(asked)) ? asked : new Date().toISOString().slice(0, 10);
  const job_id = params.get("job") ?? undefined;
  const usage = useLoad(`usage ${namespace} ${day}`, (signal) => call("get", "/api/v1/model-usage", { query: { day }, namespace, signal }));
  const pages = usePages(`calls ${namespace} ${job_id}`, PAGE, (query, signal) =>
    call("get", "/api/v1/model-calls", { query: { ...query, job_id }, namespace, signal }),
  );
  const again = () => {
    usage.reload();
    pages.reload();
  };
  useAgain(turn, again);
  useWatch((usage.data?.running ?? 0) > 0, again);
  return (
    <>
      <Section
        title="Budget of a day"
        note={
          <label class="size">
            Day (UTC)
            <Parameter type="date" asked={day} change={(text) => go(changed({ day: text }))} />
          </label>
        }
      >
        <Trouble error={usage.error} />
        {usage.data && <Used of={usage.data} />}
      </Section>
      <Section
        title="Calls"
        note={
          job_id && (
            <a class="chip on" href={changed({ job: null })} aria-label="Without the filter of one job">
              of one job <span aria-hidden="true">×</span>
            </a>
          )
        }
      >
        <Trouble error={pages.first.error} />
        {!pages.first.data && !pages.first.error && <Loading what="Reading…" />}
        {pages.first.data && !pages.items.length && <Empty>No language model was asked {job_id ? "by this job" : "here yet"}. What was sent and answered is not kept; what a call was for and what it took is.</Empty>}
        {pages.items.length > 0 && <Calls items={pages.items} />}
        {pages.more}
      </Section>
    </>
  );
}

function Used({ of }: { of: Schemas["ModelUsage"] }) {
  const tokens = of.prompt_tokens + of.completion_tokens;
  return (
    <>
      <p>
        {many(of.calls, "call")}
        {of.running > 0 && `, ${count(of.running)} running`}
        {of.failed > 0 && `, ${count(of.failed)} failed`}; {count(of.prompt_tokens)} tokens sent, {count(of.completion_tokens)} received.
      </p>
      <Meter name="tokens" used={tokens} limit={of.token_limit} left={of.tokens_left} show={count} />
      <Meter name="cost" used={of.cost} limit={of.cost_limit} left={of.cost_left} show={exact} />
    </>
  );
}

function Meter({ name, used, limit, left, show }: { name: string; used: number; limit: number | null; left: number | null; show: (n: number) => string }) {
  return (
    <div class="progress">
      <label>
        <span>
          {show(used)} {limit === null ? `${name}; there is no limit` : `of ${show(limit)} ${name}, ${show(left ?? 0)} left`}
        </span>
        {limit !== null && <progress value={Math.min(used, limit)} max={Math.max(limit, 1e-9)} />}
      </label>
    </div>
  );
}

function Calls({ items }: { items: Schemas["ModelCall"][] }) {
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Calls of language models">
      <table class="calls">
        <thead>
          <tr>
            <th scope="col">when</th>
            <th scope="col">for</th>
            <th scope="col">model</th>
            <th scope="col">state</th>
            <th scope="col">tokens</th>
            <th scope="col">cost</th>
            <th scope="col">took</th>
          </tr>
        </thead>
        <tbody>
          {items.map((each) => (
            <tr key={each.id}>
              <td>{when(each.started_at)}</td>
              <th scope="row">
                {each.job_id ? <a href={href("changes", { part: "jobs", job: each.job_id })}>{each.purpose}</a> : each.purpose}
              </th>
              <td>
                <Text of={each.model} cut={60} />
              </td>
              <td>
                <span class={`badge state-${each.state}`}>{each.state}</span>
                {each.error && (
                  <p class="wrong">
                    <Text of={each.error} cut={300} />
                  </p>
                )}
              </td>
              <td>
                {count(each.prompt_tokens)} + {count(each.completion_tokens)}
                {each.estimated && <span class="quiet"> reckoned</span>}
              </td>
              <td>{exact(each.cost)}</td>
              <td>{each.took_ms === null ? "" : `${count(each.took_ms)} ms`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
