/** What a view shows, as a picture, as data, and as the question that brought it. */
import { useState } from "preact/hooks";
import { address, allAsked, type Asked } from "../api/client";
import { useSession } from "../session";
import { Act, Copy, Dialog } from "./common";
import { curl, python, sql } from "./lines";
import { png, svg } from "./still";
import { csv, rowsOf, save } from "./save";
import { Text } from "./text";

const WAYS = ["curl", "Python", "SQL"] as const;
type Way = (typeof WAYS)[number];

export function TakeAway({ name, close }: { name: string; close: () => void }) {
  const asked = allAsked();
  const file = name.toLowerCase();
  const drawn = document.querySelector("main .sky canvas") !== null;
  return (
    <Dialog title="Take away" close={close}>
      <div class="away">
        <div class="acts">
          <Act class="small" run={async () => save(`${file}.svg`, "image/svg+xml", svg())}>
            Picture, SVG
          </Act>
          {drawn && (
            <Act class="small" run={async () => save(`${file}.png`, "image/png", await png())}>
              Picture, PNG
            </Act>
          )}
        </div>
        {asked.map((each) => (
          <Question key={`${each.method} ${each.path}`} of={each} />
        ))}
        {!asked.length && <p class="quiet">This view has asked the service nothing yet.</p>}
        <div class="acts end">
          <button type="button" onClick={close}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function Question({ of }: { of: Asked }) {
  const { me } = useSession();
  const [way, choose] = useState<Way | null>(null);
  const base = address("/").href.replace(/\/$/, "");
  const keyed = me.kind === "key";
  const lines: Record<Way, string | null> = { curl: curl(of, base, keyed), Python: python(of, base, keyed), SQL: sql(of) };
  const short = of.path.replace("/api/v1/", "/");
  const file = short.replace(/[^a-z]+/g, "-").replace(/^-|-$/g, "");
  const shown = way && lines[way];
  return (
    <section aria-label={`${of.method.toUpperCase()} ${short}`} data-path={short}>
      <h3>
        {of.method.toUpperCase()} <Text of={short} />
      </h3>
      <div class="acts">
        <button type="button" class="small" onClick={() => save(`${file}.json`, "application/json", JSON.stringify(of.reply(), null, 1))}>
          JSON
        </button>
        <button type="button" class="small" onClick={() => save(`${file}.csv`, "text/csv", csv(rowsOf(of.reply())))}>
          CSV
        </button>
        {WAYS.filter((each) => lines[each] !== null).map((each) => (
          <button key={each} type="button" class="small" aria-pressed={each === way} onClick={() => choose(each === way ? null : each)}>
            {each}
          </button>
        ))}
        {shown && <Copy text={shown} label={`Copy as ${way}`} />}
      </div>
      {shown && (
        <pre class="lines" tabIndex={0} aria-label={`The question as ${way}`}>
          {shown}
        </pre>
      )}
    </section>
  );
}
