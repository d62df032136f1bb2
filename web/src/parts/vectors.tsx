/** Vectors: how many texts of the namespace have one, and how far a change of the model has got. */
import { call } from "../api/client";
import { count, many, when } from "../format";
import { useSession } from "../session";
import { useLoad } from "../state";
import { Loading, Section, Trouble } from "./common";
import { useAgain, useWatch } from "./more";
import { Text } from "./text";

export function Vectors({ turn }: { turn: number }) {
  const session = useSession();
  const { about } = session;
  const models = useLoad("models", (signal) => call("get", "/api/v1/embeddings/models", { signal }));
  const again = () => {
    models.reload();
    session.reload();
  };
  useAgain(turn, models.reload);
  const items = models.data?.items ?? [];
  const pending = (about?.pending_embeddings ?? 0) + (about?.pending_names ?? 0) + items.reduce((sum, each) => sum + each.waiting, 0);
  useWatch(pending > 0, again, 2000);
  return (
    <>
      {about && (
        <Section title="In this namespace" note="by itself, in the background">
          <Bar name="have a vector" done={about.memories + about.entities - about.pending_embeddings} all={about.memories + about.entities} what="texts" />
          <Bar name="were read for names" done={about.memories - about.pending_names} all={about.memories} what="memories" />
        </Section>
      )}
      <Section title="Models" note="of all namespaces that you may read">
        <Trouble error={models.error} />
        {!models.data && !models.error && <Loading what="Reading…" />}
        {models.data && !items.length && <p class="quiet">No model makes vectors here: recall goes by words, names and relations.</p>}
        {items.length > 0 && (
          <div class="wide" tabIndex={0} role="region" aria-label="Models of vectors">
            <table>
              <thead>
                <tr>
                  <th scope="col">model</th>
                  <th scope="col">state</th>
                  <th scope="col">length</th>
                  <th scope="col">waiting</th>
                  <th scope="col">refused</th>
                  <th scope="col">since</th>
                </tr>
              </thead>
              <tbody>
                {items.map((each) => (
                  <tr key={each.id}>
                    <th scope="row">
                      <Text of={each.name} cut={80} />
                    </th>
                    <td>
                      <span class={`badge state-${each.state}`}>{each.state}</span>
                      {each.state === "filling" && <span class="quiet"> takes the place of the active one when nothing waits</span>}
                      {each.state === "second" && <span class="quiet"> joins the active one where its vectors are there</span>}
                    </td>
                    <td>{count(each.dimensions)}</td>
                    <td>{count(each.waiting)}</td>
                    <td>{count(each.refused)}</td>
                    <td>{when(each.created_at)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        <p class="quiet hint">Another model is chosen by the operator: <code>loci reembed</code>. Recall asks the old one until all texts have a vector of the new one.</p>
      </Section>
    </>
  );
}

function Bar({ name, done, all, what }: { name: string; done: number; all: number; what: string }) {
  const shown = Math.max(0, Math.min(done, all));
  return (
    <div class="progress">
      <label>
        <span>
          {count(shown)} of {many(all, what.replace(/s$/, ""), what === "memories" ? "memories" : what)} {name}
        </span>
        <progress value={shown} max={Math.max(all, 1)} />
      </label>
    </div>
  );
}
