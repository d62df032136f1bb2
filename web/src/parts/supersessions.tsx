/** Facts that contradict each other: which takes the place of which, by what sign; accepted, dismissed, undone. */
import { call, type Schemas } from "../api/client";
import { ago, percent, when, words } from "../format";
import { mayWrite, useSession } from "../session";
import { changed, go, href, usePlace } from "../state";
import { Act, Empty, Loading, Trouble } from "./common";
import { Difference } from "./difference";
import { useAgain, usePages } from "./more";
import { Text } from "./text";

type Supersession = Schemas["Supersession"];
const PAGE = 20;
const STATES: Supersession["status"][] = ["proposed", "applied", "dismissed", "undone"];
const SIGNALS: Record<Supersession["signal"], string> = {
  negation: "one denies the other",
  antonym: "words that exclude each other",
  value_conflict: "two values of one thing",
  temporal_marker: "a word says that it changed",
  model: "a language model says so",
  single_valued: "a relation that has one end at a time",
  replaced: "an agent stated its next version",
};
const ORIGINS: Record<Supersession["origin"], string> = { inline: "found when it was written", sweep: "found by a sweep", manual: "said by an agent", pass: "found by a pass" };

export function Supersessions({ turn }: { turn: number }) {
  const { params } = usePlace();
  const { namespace } = useSession();
  const asked = params.get("status");
  const status = asked === "any" ? undefined : (STATES.find((each) => each === asked) ?? "proposed");
  const pages = usePages(`supersessions ${namespace} ${status}`, PAGE, (query, signal) =>
    call("get", "/api/v1/supersessions", { query: { ...query, status }, namespace, signal }),
  );
  const { first, items } = pages;
  useAgain(turn, pages.reload);
  return (
    <>
      <div class="bar-line">
        <label class="size">
          Status
          <select value={status ?? "any"} onChange={(event) => go(changed({ status: event.currentTarget.value === "proposed" ? null : event.currentTarget.value }))}>
            {STATES.map((each) => (
              <option key={each}>{each}</option>
            ))}
            <option>any</option>
          </select>
        </label>
      </div>
      <Trouble error={first.error} />
      {!first.data && !first.error && <Loading what="Reading…" />}
      {first.data && !items.length && (
        <Empty>
          {status === "proposed" ? "Nothing waits for a decision. Where two facts contradict each other and rules are not sure, the pair comes here, to accept or to dismiss." : "None."}
        </Empty>
      )}
      <ol class="pairs">
        {items.map((each) => (
          <Pair key={each.id} of={each} reload={pages.reload} />
        ))}
      </ol>
      {pages.more}
    </>
  );
}

function Pair({ of, reload }: { of: Supersession; reload: () => void }) {
  const session = useSession();
  const { namespace } = session;
  const path = { id: of.id };
  const done = () => {
    reload();
    session.reload();
  };
  const at = of.undone_at ?? of.decided_at ?? of.created_at;
  return (
    <li>
      <p class="facts">
        <a href={href("constellation", { entity: of.entity_id })}>
          <Text of={of.entity} cut={60} />
        </a>
        {of.aspect !== null && (
          <span class="quiet">
            · <Text of={of.aspect} cut={60} />
          </span>
        )}
        <span class={`badge state-${of.status}`}>{of.status}</span>
        <span class="quiet">
          {words(of.signal)}: {SIGNALS[of.signal]} · {percent(of.confidence)} sure · {ORIGINS[of.origin]} · <time dateTime={at} title={when(at)}>{ago(at)}</time>
        </span>
      </p>
      <div class="pair">
        <blockquote class="older">
          <span class="quiet">older</span> <Text of={of.older} cut={600} />
        </blockquote>
        <span aria-label="is superseded by">→</span>
        <blockquote class="newer">
          <span class="quiet">newer</span> <Text of={of.newer} cut={600} />
        </blockquote>
      </div>
      <Difference before={of.older} after={of.newer} />
      {of.evidence.length > 0 && (
        <p class="quiet">
          What decided: {of.evidence.map((each, nth) => (
            <span key={nth}>
              {nth > 0 && ", "}
              <Text of={each} cut={60} />
            </span>
          ))}
        </p>
      )}
      {mayWrite(session) && (
        <div class="acts">
          {of.status === "proposed" && (
            <>
              <Act class="small primary" done="Accepted: the newer one is in force, the older one ended." run={() => call("post", "/api/v1/supersessions/{id}/accept", { path, namespace }).then(done)}>
                Accept
              </Act>
              <Act class="small" done="Dismissed: both stay." run={() => call("post", "/api/v1/supersessions/{id}/dismiss", { path, namespace }).then(done)}>
                Dismiss
              </Act>
            </>
          )}
          {of.status === "applied" && (
            <Act class="small" done="Undone: the older one is in force again." run={() => call("post", "/api/v1/supersessions/{id}/undo", { path, namespace }).then(done)}>
              Undo
            </Act>
          )}
        </div>
      )}
    </li>
  );
}
