/** A result of a recall, and why it was found. */
import type { Schemas } from "../api/client";
import { exact, percent, when, words } from "../format";
import { changed, href } from "../state";
import { Other } from "./other";
import { Text } from "./text";
import { Whom } from "./whom";

export type Result = Schemas["RecallOut"]["results"][number];

interface ArmFound {
  rank: number;
  score: number;
  part?: number | null;
  weight?: number | null;
  path?: unknown;
}
interface Explanation {
  because?: string;
  fusion?: string;
  rrf_k?: number | null;
  lent?: number;
  factor?: number;
  standing?: string | null;
  waited?: boolean;
  arms?: Record<string, ArmFound>;
}

/** How a memory stands to whom the question is about, in the words of the explanation's own line. */
const STANDINGS: Record<string, string> = {
  about: "about whom the question names",
  own: "said in the first person by the one who asks",
  foreign: "said in the first person by another than the one who asks",
  role: "the question asks for the other role of whom it names",
  namesake: "about another name of the same stem",
  told: "said in the first person by one whom the question names",
  said: "said by one whom the question names",
};

export function Found({ of, place, best }: { of: Result; place: number; best: number }) {
  const why = (of.explain ?? {}) as Explanation;
  const arms = Object.entries(why.arms ?? {}).map(([name, arm]) => ({ name, arm, share: arm.part ?? 0 }));
  const sum = arms.reduce((all, each) => all + each.share, 0) || 1;
  arms.sort((a, b) => b.share - a.share);
  const standing = why.standing ? (STANDINGS[why.standing] ?? words(why.standing)) : undefined;
  const content = of.tier === "working_memory" ? JSON.stringify(of.value) : of.content;
  return (
    <li class="result">
      <span class="place" aria-hidden="true">
        {place}
      </span>
      <div class="found">
        <p class="content">
          {of.tier === "memory" ? (
            <a href={href("memory", { id: of.id })}>
              <Text of={content} cut={600} />
            </a>
          ) : (
            <Text of={content} cut={600} />
          )}
        </p>
        <p class="facts">
          {of.tier === "memory" ? (
            <>
              <a class="chip" href={changed({ category: of.category })}>
                <Text of={of.category} cut={60} />
              </a>
              {of.tags.slice(0, 6).map((tag) => (
                <a key={tag} class="chip" href={changed({ tag })}>
                  #<Text of={tag} cut={40} />
                </a>
              ))}
              <span class="quiet">
                true {when(of.valid_from)} – {when(of.valid_to, "now")}
                <Whom of={of} />
              </span>
            </>
          ) : (
            <span class="quiet">
              {words(of.tier)} {of.tier === "conversation" ? `· ${of.role} · ${when(of.said_at)}` : `· until ${when(of.expires_at)}`}
            </span>
          )}
        </p>
        {of.tier === "memory" && of.contradicts && of.contradicts.length > 0 && (
          <p class="facts open">
            <span class="badge warn">not settled</span>
            <span>
              may contradict{" "}
              {of.contradicts.map((id, nth) => (
                <span key={id}>
                  {nth > 0 && ", "}
                  <Other id={id} />
                </span>
              ))}
            </span>
          </p>
        )}
        <details class="why">
          <summary>
            <span class="share" style={{ "--share": String(Math.max(0.04, of.score / best)) }} aria-hidden="true">
              {arms.map((each) => (
                <i key={each.name} class={`arm-${each.name}`} style={{ "--part": String(each.share / sum) }} />
              ))}
            </span>
            <span class="score" title={String(of.score)}>
              {exact(of.score)}
            </span>
            {of.relevance != null && (
              <span class="relevance" title="How likely it is that this answers the question">
                {percent(of.relevance)} relevant
              </span>
            )}
            <span class="quiet">
              {arms.map((each) => words(each.name)).join(", ") || "no arm"} <span class="visually-hidden">: why it was found</span>
            </span>
          </summary>
          <table>
            <thead>
              <tr>
                <th scope="col">arm</th>
                <th scope="col">rank</th>
                <th scope="col">score</th>
                <th scope="col">weight</th>
                <th scope="col">share</th>
                <th scope="col">by way of</th>
              </tr>
            </thead>
            <tbody>
              {arms.map(({ name, arm, share: given }) => (
                <tr key={name}>
                  <th scope="row">
                    <span class={`dot arm-${name}`} aria-hidden="true" />
                    {words(name)}
                  </th>
                  <td>{arm.rank}</td>
                  <td title={String(arm.score)}>{exact(arm.score)}</td>
                  <td>{arm.weight === undefined || arm.weight === null ? "–" : exact(arm.weight)}</td>
                  <td>{percent(given / sum)}</td>
                  <td>
                    <Path of={arm.path} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <p class="quiet">
            {why.because && <Text of={`${why.because}.`} />}
            {standing && !why.because?.includes(standing) && ` Its standing: ${standing}.`}
            {why.lent ? ` Neighbours in its session lent ${exact(why.lent)}.` : ""}
            {why.waited ? " Its vector was made for this question; it was not stored yet." : ""}
          </p>
        </details>
      </div>
    </li>
  );
}

function Path({ of }: { of: unknown }) {
  if (!of || typeof of !== "object") return <span class="quiet">its text</span>;
  const { path, decay } = of as { path?: unknown[]; decay?: number[] };
  const steps = (path ?? []).map((step) => (typeof step === "string" ? step : JSON.stringify(step)));
  return (
    <span>
      <Text of={steps.join(" → ") || JSON.stringify(of)} cut={300} />
      {decay && decay.length > 0 && <span class="quiet"> (decayed to {decay.map((each) => percent(each)).join(", ")})</span>}
    </span>
  );
}

