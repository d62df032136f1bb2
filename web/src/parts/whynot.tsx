/** Why a memory that somebody expected is not in an answer: what dropped it, and what each arm made of it. */
import { useState } from "preact/hooks";
import { call, type Schemas } from "../api/client";
import { exact, when, words } from "../format";
import { useSession } from "../session";
import { changed, go, href, useLoad, usePlace } from "../state";
import type { Body } from "./asked";
import { Loading, Section, sentence, Trouble } from "./common";
import { Text } from "./text";

const HITS = 6;
const BY: Record<Schemas["WhyNot"]["dropped_by"], string> = {
  nothing: "It is there.",
  time: "Dropped by time.",
  status: "Dropped: it is forgotten.",
  filter: "Dropped by a filter.",
  arms: "No arm found it.",
  relevance: "Dropped by relevance.",
  rank: "Dropped by rank.",
};

export function WhyNot({ body }: { body: Body }) {
  const { params } = usePlace();
  const { namespace } = useSession();
  const [text, set] = useState("");
  const expected = params.get("why");
  const wanted = text.trim();
  const found = useLoad(`expected ${namespace} ${wanted}`, (signal) =>
    wanted ? call("get", "/api/v1/memory/search", { query: { q: wanted, limit: HITS }, namespace, signal }) : Promise.resolve(null),
  );
  const take = (id: string) => {
    set("");
    go(changed({ why: id }));
  };
  return (
    <Section title="Why not?" class="whynot" note="a memory that you expected here">
      <form
        class="find"
        role="search"
        aria-label="Find the memory that you expected"
        onSubmit={(event) => {
          event.preventDefault();
          if (wanted) take(wanted);
        }}
      >
        <input type="search" name="expected" value={text} placeholder="Its words, its name, or its id" aria-label="The memory that you expected" onInput={(event) => set(event.currentTarget.value)} />
        {wanted && found.data && (
          <ul class="hits">
            {found.data.results.map((each) => (
              <li key={each.id}>
                <button type="button" onClick={() => take(each.id)}>
                  <Text of={each.content} cut={120} />
                </button>
              </li>
            ))}
            {!found.data.results.length && <li class="quiet">No memory of now has these words. Enter looks for a name or an id.</li>}
          </ul>
        )}
      </form>
      {expected && <Verdict memory={expected} body={body} />}
    </Section>
  );
}

function Verdict({ memory, body }: { memory: string; body: Body }) {
  const { namespace } = useSession();
  const said = useLoad(`why not ${namespace} ${memory} ${JSON.stringify(body)}`, (signal) =>
    call("post", "/api/v1/recall/why-not", { body: { memory, recall: body as Schemas["RecallInput"] }, namespace, signal }),
  );
  if (!said.data) return said.error ? <Trouble error={said.error} /> : <Loading what="Looking for it…" />;
  const of = said.data;
  return (
    <div class={`verdict ${of.dropped_by}`} aria-busy={said.loading}>
      <p class="content">
        <a href={href("memory", { id: of.memory_id })}>
          <Text of={of.content} cut={400} />
        </a>
      </p>
      <p role="status">
        <strong>{BY[of.dropped_by]}</strong> <Text of={sentence(of.because)} cut={400} /> <Remedy of={of} />
      </p>
      <div class="columns">
        <table>
          <caption>What every result must be</caption>
          <thead>
            <tr>
              <th scope="col">check</th>
              <th scope="col">asked</th>
              <th scope="col">it has</th>
              <th scope="col">passes</th>
            </tr>
          </thead>
          <tbody>
            {of.checks.map((each) => (
              <tr key={each.name} class={each.passes ? "" : "failed"}>
                <th scope="row">{words(each.name)}</th>
                <td><Value of={each.asked} /></td>
                <td><Value of={each.has} /></td>
                <td>{each.passes ? "yes" : "no"}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <table>
          <caption>What the arms made of it</caption>
          <thead>
            <tr>
              <th scope="col">arm</th>
              <th scope="col">rank</th>
              <th scope="col">score</th>
              <th scope="col">because</th>
            </tr>
          </thead>
          <tbody>
            {of.arms.map((each) => (
              <tr key={each.arm}>
                <th scope="row">
                  <span class={`dot arm-${each.arm}`} aria-hidden="true" />
                  {words(each.arm)}
                </th>
                <td>{each.rank === null ? "–" : `${each.rank} of ${each.hits}`}</td>
                <td>{each.score === null ? "–" : exact(each.score)}</td>
                <td><Text of={each.because} cut={240} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** What would bring it. */
function Remedy({ of }: { of: Schemas["WhyNot"] }) {
  const failed = of.checks.filter((each) => !each.passes);
  const began = of.checks.find((each) => each.name === "as_of")?.has as (string | null)[] | null;
  if (of.dropped_by === "time" && failed[0]?.name === "as_of" && began?.[0]) return <a href={changed({ as_of: began[0] })}>Ask when it was true</a>;
  if (of.dropped_by === "time") return <a href={changed({ known_at: null })}>Ask as it is known now</a>;
  if (of.dropped_by === "filter") return <a href={changed({ category: null, tag: null, entity: null, session: null, layer: null, filters: null })}>Ask without filters</a>;
  if (of.dropped_by === "rank" && of.rank !== null && of.rank <= 100) return <a href={changed({ k: of.rank })}>Ask for {of.rank}</a>;
  return null;
}

function Value({ of }: { of: unknown }) {
  if (of === null || of === undefined) return <span class="quiet">nothing</span>;
  if (Array.isArray(of)) {
    const times = of.length === 2 && of.every((each) => each === null || /^\d{4}-/.test(String(each)));
    return times ? <>{when(of[0] as string, "ever")} – {when(of[1] as string | null, "now")}</> : <Text of={of.join(", ") || "none"} cut={120} />;
  }
  if (typeof of === "object") return <Text of={JSON.stringify(of)} cut={120} />;
  return <>{/^\d{4}-\d\d-\d\dT/.test(String(of)) ? when(String(of)) : <Text of={String(of)} cut={80} />}</>;
}
