/** What rests on a memory, when it was recalled, and how that was rated. */
import { call, type Schemas } from "../api/client";
import { ago, clock, exact, many, percent, when, words } from "../format";
import { useSession } from "../session";
import { href, type View } from "../state";
import { Section, Trouble } from "./common";
import { usePages } from "./more";
import { Text } from "./text";

type Dependent = Schemas["Dependent"];
const PAGE = 20;
const NAMES: Record<Dependent["kind"], string> = { attribute: "fact", edge: "relation", entity: "mentions" };

export function Resting({ id }: { id: string }) {
  const { namespace } = useSession();
  const pages = usePages(`resting ${namespace} ${id}`, PAGE, (query, signal) => call("get", "/api/v1/memories/{id}/dependents", { path: { id }, query, namespace, signal }));
  const { first, items } = pages;
  return (
    <Section title="What rests on it" note={items.length > 0 && many(items.length, "thing")}>
      <Trouble error={first.error} />
      {first.data && !items.length && <p class="quiet">No fact, relation or entity.</p>}
      <ul class="resting">
        {items.map((each) => (
          <li key={each.kind + each.id}>
            <span class="badge">{NAMES[each.kind]}</span>{" "}
            <a href={href("constellation" satisfies View, { entity: each.entity_id })}>
              <Text of={each.kind === "attribute" ? each.entity : each.content} cut={160} />
            </a>
            {each.kind === "attribute" && (
              <>
                {" "}
                <span class="quiet">
                  <Text of={each.aspect ?? ""} cut={40} />:
                </span>{" "}
                <Text of={each.content} cut={200} />
              </>
            )}{" "}
            <span class="quiet">
              {each.status !== "active" && `${each.status} · `}
              {percent(each.confidence)}
              {each.valid_from && each.valid_to && ` · ${when(each.valid_from)} – ${when(each.valid_to)}`}
              {each.alone ? " · by this alone" : " · others say so, too"}
            </span>
          </li>
        ))}
      </ul>
      {pages.more}
    </Section>
  );
}

export function Recalled({ id }: { id: string }) {
  const { namespace, about } = useSession();
  const pages = usePages(`recalled ${namespace} ${id}`, PAGE, async (query, signal) => {
    const page = await call("get", "/api/v1/memories/{id}/recalls", { path: { id }, query, namespace, signal });
    return { items: page.items.map((each) => ({ ...each, id: each.recall_id })), next_cursor: page.next_cursor };
  });
  const { first, items } = pages;
  const logs = about?.settings["recall_log"] === true;
  return (
    <Section title="When it was recalled" note={items.length > 0 && many(items.length, "recall")}>
      <Trouble error={first.error} />
      {first.data && !items.length && <p class="quiet">By no recall that was logged. {!logs && "This namespace logs those alone that ask for it (setting recall_log)."}</p>}
      <ul class="recalled">
        {items.map((each) => (
          <li key={each.recall_id}>
            <a href={href("ask", { log: each.recall_id })}>
              <Text of={each.query} cut={120} />
            </a>
            <span class="quiet">
              place {each.rank}, score {exact(each.score)} · <time dateTime={each.at} title={`${when(each.at)}, ${clock(each.at)}`}>{ago(each.at)}</time>
              {each.session_id && (
                <>
                  {" "}
                  · <Text of={each.session_id} cut={30} />
                </>
              )}
              {(each.hits ?? 0) > 0 && ` · found again ${many(each.hits!, "time")}`}
            </span>
            <span>
              {each.useful === null ? <span class="quiet">not rated</span> : <span class={`badge ${each.useful ? "state-applied" : "warn"}`}>{each.useful ? "useful" : words("of_no_use")}</span>}{" "}
              {each.note && <Text of={each.note} cut={160} />}
            </span>
          </li>
        ))}
      </ul>
      {pages.more}
    </Section>
  );
}
