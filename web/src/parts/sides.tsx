/** Two answers side by side: two moments, two settings, or what was answered then and what is now; and what moved. */
import { call, type Schemas } from "../api/client";
import { exact, many, when, words } from "../format";
import { changed, go, href, useLoad } from "../state";
import { useSession } from "../session";
import { ARMS, type Body, type Side, weightsOf } from "./asked";
import { Loading, Parameter, Section, Trouble } from "./common";
import { Text } from "./text";

interface Line {
  id: string;
  content: string;
  score: number;
  arms: string[];
}

const lines = (of: Schemas["RecallOut"]): Line[] =>
  of.results.map((each) => ({
    id: each.tier === "working_memory" ? each.key : String(each.id),
    content: each.tier === "working_memory" ? JSON.stringify(each.value) : each.content,
    score: each.score,
    arms: Object.keys((each.explain as { arms?: object } | null)?.arms ?? {}),
  }));

/** Where a line of one side stands on the other. */
function moved(id: string, at: number, others: Line[], first: boolean): { mark: string; text: string } {
  const there = others.findIndex((each) => each.id === id);
  if (there < 0) return first ? { mark: "–", text: "not on the other side" } : { mark: "+", text: "only on this side" };
  const by = there - at;
  if (by === 0) return { mark: "=", text: "the same place" };
  return by > 0 ? { mark: `▲${by}`, text: `${many(by, "place")} higher than on the other side` } : { mark: `▼${-by}`, text: `${many(-by, "place")} lower than on the other side` };
}

function List({ title, note, of, others, first }: { title: string; note: string; of: Line[]; others: Line[]; first: boolean }) {
  return (
    <Section title={title} note={note}>
      <ol class="lines-of">
        {of.map((each, at) => {
          const where = moved(each.id, at, others, first);
          return (
            <li key={each.id} class={where.mark === "=" ? "" : "moved"}>
              <span class="place" aria-hidden="true">{at + 1}</span>
              <a href={href("memory", { id: each.id })}>
                <Text of={each.content} cut={200} />
              </a>
              <span class="mark-moved" title={where.text}>
                <span aria-hidden="true">{where.mark}</span>
                <span class="visually-hidden">{where.text}</span>
              </span>
              <span class="quiet">
                {exact(each.score)} · {each.arms.map(words).join(", ") || "no arm"}
              </span>
            </li>
          );
        })}
      </ol>
      {!of.length && <p class="quiet">Nothing was found.</p>}
    </Section>
  );
}

const at = (body: Body) => `${body.as_of ? `true at ${when(body.as_of)}` : "true now"}${body.known_at ? `, as known at ${when(body.known_at)}` : ""}`;

export function Sides({ now, body }: { now: Schemas["RecallOut"]; body: Body }) {
  const { namespace } = useSession();
  const other = useLoad(`side ${namespace} ${JSON.stringify(body)}`, (signal) => call("post", "/api/v1/recall", { body, namespace, signal }));
  return (
    <>
      <Trouble error={other.error} />
      {!other.data && !other.error && <Loading what="Asking the other side…" />}
      {other.data && <Pair left={lines(now)} right={lines(other.data)} titles={["This side", "The other side"]} notes={["as chosen above", at(body)]} />}
    </>
  );
}

function Pair({ left, right, titles, notes }: { left: Line[]; right: Line[]; titles: [string, string]; notes: [string, string] }) {
  const same = left.filter((each, nth) => right[nth]?.id === each.id).length;
  return (
    <>
      <p class="quiet" role="status">
        {same === left.length && left.length === right.length ? "Nothing moved." : `${many(same, "result")} of ${Math.max(left.length, right.length)} stand in the same place.`}
      </p>
      <div class="sides">
        <List title={titles[0]} note={notes[0]} of={left} others={right} first />
        <List title={titles[1]} note={notes[1]} of={right} others={left} first={false} />
      </div>
    </>
  );
}

/** What the log has of a recall, beside the same asked again as it was then. */
export function Logged({ id, now }: { id: string; now: Schemas["RecallOut"] }) {
  const { namespace } = useSession();
  const known = new Map(lines(now).map((each) => [each.id, each.content]));
  const kept = useLoad(`logged ${namespace} ${id}`, async (signal) => {
    const recall = await call("get", "/api/v1/recalls/{id}", { path: { id }, namespace, signal });
    const texts = await Promise.all(
      recall.memories.map((each) =>
        known.get(each.memory_id) ?? call("get", "/api/v1/memories/{id}", { path: { id: each.memory_id }, namespace, signal }).then((found) => found.content, () => "(erased)"),
      ),
    );
    return { recall, lines: recall.memories.map((each, nth) => ({ id: each.memory_id, content: texts[nth]!, score: each.score, arms: Object.keys(each.arms) })) };
  });
  if (!kept.data) return kept.error ? <Trouble error={kept.error} /> : <Loading what="Reading the log…" />;
  const { recall } = kept.data;
  const rated = recall.memories.filter((each) => each.useful !== null);
  return (
    <>
      <p class="quiet">
        Asked {when(recall.at)}
        {recall.session_id && (
          <>
            {" "}
            in <Text of={recall.session_id} cut={60} />
          </>
        )}
        ; {rated.length ? `${many(rated.filter((each) => each.useful).length, "result")} of ${rated.length} rated were of use` : "nobody has rated its results"}.
      </p>
      <Pair left={lines(now)} right={kept.data.lines} titles={["Asked again", "Answered then"]} notes={["at the moment of the log", when(recall.at)]} />
    </>
  );
}

const FUSIONS = { linear: "sum of scores", rrf: "reciprocal ranks", relative_score: "mean of scores" };

/** What is different on the other side. */
export function Other({ side }: { side: Side }) {
  const on = side.arms?.split(",") ?? [...ARMS];
  const weights = weightsOf(side.weights);
  const set = (name: keyof Side, value: string | null) => go(changed({ [`b_${name}`]: value }), { replace: true });
  const time = (name: "as_of" | "known_at", label: string) => (
    <label>
      {label}
      <Parameter type="date" asked={side[name]?.slice(0, 10) ?? ""} change={(text) => set(name, text && `${text}T00:00:00Z`)} />
    </label>
  );
  return (
    <fieldset class="other">
      <legend>The other side differs in</legend>
      {time("as_of", "True at")}
      {time("known_at", "As known at")}
      <label>
        Fusion
        <select value={side.fusion ?? ""} onChange={(event) => set("fusion", event.currentTarget.value || null)}>
          <option value="">as on this side</option>
          {Object.entries(FUSIONS).map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      </label>
      {ARMS.map((arm) => (
        <span key={arm} class={`weigh arm-${arm}`}>
          <label>
            <input
              type="checkbox"
              checked={on.includes(arm)}
              onChange={() => {
                const left = on.includes(arm) ? on.filter((each) => each !== arm) : [...on, arm];
                set("arms", left.length ? left.join(",") : null);
              }}
            />
            {words(arm)}
          </label>
          <input
            type="number"
            min="0"
            step="0.1"
            aria-label={`Weight of ${words(arm)}`}
            placeholder="weight"
            value={weights[arm] ?? ""}
            onChange={(event) => {
              const given = event.currentTarget.value;
              const { [arm]: _, ...rest } = weights;
              const made = given === "" ? rest : { ...rest, [arm]: Number(given) };
              set("weights", Object.entries(made).map(([name, value]) => `${name}:${value}`).join(",") || null);
            }}
          />
        </span>
      ))}
    </fieldset>
  );
}
