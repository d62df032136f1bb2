/** Ways between two entities: over the whole graph, not only over what is drawn. */
import { useMemo } from "preact/hooks";
import { call } from "../api/client";
import { many, percent, words } from "../format";
import { useSession } from "../session";
import { changed, times, useLoad, usePlace } from "../state";
import { Loading, Trouble } from "./common";
import { waysBetween, type Way } from "./graph";
import { Text } from "./text";

const FAR = 6;
const EDGES = 2000;
const MOST = 5;

/** The ways that the address asks for; null: it asks for none. */
export function useWays(from: string | null, to: string | null, as_of: string | null) {
  const { namespace } = useSession();
  const { known_at } = times(usePlace());
  const walk = useLoad(`ways ${namespace} ${from} ${to} ${as_of} ${known_at}`, (signal) =>
    from && to ? call("post", "/api/v1/graph/traverse", { body: { start: [from], max_hops: FAR, limit: EDGES, as_of, known_at }, namespace, signal }) : Promise.resolve(null),
  );
  const ways = useMemo(() => (walk.data && from && to ? waysBetween(from, to, walk.data.edges, FAR, MOST) : null), [walk.data]);
  return { ways, cut: walk.data?.truncated ?? false, error: walk.error, loading: walk.loading };
}

interface WaysProps {
  from: string;
  name: string;
  found: ReturnType<typeof useWays>;
}

export function Ways({ from, name, found: { ways, cut, error, loading } }: WaysProps) {
  return (
    <div class="ways">
      <h3>
        Ways to <Text of={name} cut={40} />{" "}
        <a href={changed({ to: null })} aria-label="Without the ways">
          ×
        </a>
      </h3>
      <Trouble error={error} />
      {!ways && loading && <Loading what="Looking for ways…" />}
      {ways && !ways.length && <p class="quiet">None of at most {FAR} steps holds at this moment{cut ? `, among the ${EDGES} nearest edges` : ""}.</p>}
      <ol aria-busy={loading}>
        {(ways ?? []).map((way, nth) => (
          <li key={nth}>
            <Steps from={from} way={way} />{" "}
            <span class="quiet">
              {many(way.steps.length, "step")}, {percent(way.score)}
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function Steps({ from, way }: { from: string; way: Way }) {
  let at = from;
  return (
    <>
      {way.steps.map((each, nth) => {
        const out = each.source_id === at;
        at = out ? each.target_id! : each.source_id;
        return (
          <span key={each.id}>
            {nth === 0 && <Text of={out ? each.source : each.target!} cut={40} />}{" "}
            <span class="quiet">
              {out ? "" : "← "}
              {words(each.type)}
              {out ? " →" : ""}
            </span>{" "}
            <a href={changed({ focus: at, to: null })}>
              <Text of={out ? each.target! : each.source} cut={40} />
            </a>
          </span>
        );
      })}
    </>
  );
}
