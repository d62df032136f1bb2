/** Pairs of which the newer memory may outdate the older one, and nobody has said which holds: to be settled. */
import { call, type Schemas } from "../api/client";
import { percent, when } from "../format";
import { mayWrite, useSession } from "../session";
import { href, useLoad } from "../state";
import { Act, Empty, Loading, Section, Trouble } from "./common";
import { Difference } from "./difference";
import { useAgain, usePages } from "./more";
import { Text } from "./text";
import { Whom } from "./whom";

type Side = Schemas["PairSide"];
type Open = Schemas["UnsettledPair"] & { id: string };
type Verdict = Schemas["SettleInput"]["verdict"];
const PAGE = 20;
const VERDICTS: { verdict: Verdict; name: string; title: string; done: string }[] = [
  { verdict: "replaces", name: "Replaces", title: "The older one was true until the newer one began", done: "Settled: the older one was true until the newer one began." },
  { verdict: "corrects", name: "Corrects", title: "The older one was never true", done: "Settled: the older one was never true." },
  { verdict: "both_true", name: "Both true", title: "Both stay, and are not named to each other again", done: "Settled: both are true." },
];
const TWO = VERDICTS.filter((each) => each.verdict !== "corrects");
const FEW = 3;

export function Unsettled({ turn }: { turn: number }) {
  const session = useSession();
  const { namespace } = session;
  const { first, items, more, reload } = usePages<Open>(`unsettled ${namespace}`, PAGE, async (query, signal) => {
    const page = await call("get", "/api/v1/memories/unsettled", { query, namespace, signal });
    return { ...page, items: page.items.map((each) => ({ ...each, id: `${each.newer.id} ${each.older.id}` })) };
  });
  useAgain(turn, reload);
  return (
    <>
      <Trouble error={first.error} />
      {!first.data && !first.error && <Loading what="Reading…" />}
      {first.data && !items.length && <Empty>Every pair is settled. Where a new memory may outdate an older one, and nobody has said which holds, the pair comes here.</Empty>}
      {items.length > 0 && (
        <p class="quiet unsettled">
          Which holds? The newer one <b>replaces</b> the older one, which was true until then; or it <b>corrects</b> it, which was never true; or <b>both</b> are <b>true</b>. The{" "}
          <a href={href("changes")}>operation</a> can be undone; then the pair is open again.
        </p>
      )}
      <ol class="pairs">
        {items.map((each) => (
          <Pair key={each.id} of={each} reload={reload} />
        ))}
      </ol>
      {more}
    </>
  );
}

/** The first pairs on a page that is about more: the two verdicts that fit most of them, and the way to the rest. */
export function Whichever({ turn, settled }: { turn: number; settled: () => void }) {
  const { namespace } = useSession();
  const found = useLoad(`whichever ${namespace} ${turn}`, (signal) => call("get", "/api/v1/memories/unsettled", { query: { limit: FEW }, namespace, signal }));
  const items = (found.data?.items ?? []).map((each) => ({ ...each, id: `${each.newer.id} ${each.older.id}` }));
  if (!items.length) return <Trouble error={found.error} />;
  return (
    <Section title="Which holds?" note={<a href={href("changes", { part: "unsettled" })}>all pairs</a>}>
      <ol class="pairs">
        {items.map((each) => (
          <Pair key={each.id} of={each} reload={settled} verdicts={TWO} />
        ))}
      </ol>
    </Section>
  );
}

function Pair({ of, reload, verdicts = VERDICTS }: { of: Open; reload: () => void; verdicts?: typeof VERDICTS }) {
  const session = useSession();
  const { namespace } = session;
  const settle = (verdict: Verdict) => async () => {
    try {
      await call("post", "/api/v1/memories/{id}/settle", { path: { id: of.newer.id }, body: { older: of.older.id, verdict }, namespace });
    } finally {
      reload(); // also where another has settled it meanwhile
    }
    session.reload();
  };
  return (
    <li>
      <div class="pair">
        <Told name="older" of={of.older} />
        <span>
          <span aria-hidden="true">→</span>
          <span class="visually-hidden">may be outdated by</span>
        </span>
        <Told name="newer" of={of.newer} />
      </div>
      <Difference before={of.older.content} after={of.newer.content} />
      <div class="acts">
        {mayWrite(session) &&
          verdicts.map(({ verdict, name, title, done }) => (
            <Act key={verdict} class="small" title={title} done={done} run={settle(verdict)}>
              {name}
            </Act>
          ))}
        <span class="quiet">{percent(of.similarity)} alike</span>
      </div>
    </li>
  );
}

function Told({ name, of }: { name: "older" | "newer"; of: Side }) {
  return (
    <blockquote class={name}>
      <span class="quiet">
        {name} · since {when(of.valid_from)}
        <Whom of={of} />
      </span>
      <a href={href("memory", { id: of.id })}>
        <Text of={of.content} cut={600} />
      </a>
    </blockquote>
  );
}
