/** A map by UMAP is made by a job: asked for here, with how far it is, and cancelled. */
import { useEffect, useRef } from "preact/hooks";
import { call } from "../api/client";
import { count, many } from "../format";
import { mayWrite, useSession } from "../session";
import { useLoad } from "../state";
import { Act, Trouble } from "./common";
import { useWatch } from "./more";
import type { Cloud } from "./projection";

const OPEN = new Set(["waiting", "running"]);
const STAGES: Record<string, string> = { neighbours: "Finding neighbours", layout: "Laying out", others: "Placing the others" };
const STALE = 5; // when more than a fifth came later, it is time for another

export function Layout({ dims, cloud, made }: { dims: 2 | 3; cloud: Cloud | null; made: () => void }) {
  const session = useSession();
  const { namespace } = session;
  const jobs = useLoad(`layouts ${namespace}`, (signal) => call("get", "/api/v1/jobs", { query: { kind: "project", limit: 20 }, namespace, signal }));
  const last = jobs.data?.items.find((each) => each.arguments["dims"] === dims);
  const open = last !== undefined && OPEN.has(last.state);
  useWatch(open, jobs.reload, 1000);
  const watched = useRef<string | null>(null);
  useEffect(() => {
    if (open) watched.current = last.id;
    else if (last?.state === "succeeded" && (watched.current === last.id || cloud === null)) made(); // it may have ended before anybody looked
  }, [open, last?.id, last?.state]);
  const asked = (queued: { job_id: string }) => {
    watched.current = queued.job_id;
    jobs.reload();
  };
  const stale = cloud !== null && STALE * ((cloud.added ?? 0) + (cloud.waiting ?? 0)) > cloud.points;
  if (open) {
    const said = last.result ?? {};
    const [done, of] = [Number(said["done"] ?? 0), Number(said["of"] ?? 0)];
    const stage = STAGES[String(said["stage"])] ?? "Waiting for its turn";
    return (
      <div class="progress layout">
        <label>
          <span>
            {stage}
            {of > 0 && `: ${count(done)} of ${count(of)}`}
          </span>
          <progress value={of ? done : undefined} max={of || 1} />
        </label>
        {mayWrite(session) && (
          <Act class="small" done="It is told to stop." run={() => call("post", "/api/v1/jobs/{id}/cancel", { path: { id: last.id }, namespace }).then(jobs.reload)}>
            Cancel
          </Act>
        )}
      </div>
    );
  }
  return (
    <p class="layout">
      <Trouble error={jobs.error} />
      {last && ["dead", "cancelled"].includes(last.state) && <span>{last.state === "dead" ? "The last job failed." : "The last job was cancelled."} </span>}
      {stale && <span>{many((cloud.added ?? 0) + (cloud.waiting ?? 0), "memory", "memories")} came since: a new map would show them better. </span>}
      {mayWrite(session) && (
        <Act class="small" done="A job lays it out." run={() => call("post", "/api/v1/embeddings/projection", { body: { dims, method: "umap" }, namespace }).then(asked)}>
          {cloud ? "Lay out anew" : "Lay it out"}
        </Act>
      )}
    </p>
  );
}
