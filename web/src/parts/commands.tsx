/** The palette of commands: views, entities and memories by a few letters, with the keyboard alone. */
import { useEffect, useRef, useState } from "preact/hooks";
import { quietly } from "../api/client";
import { useSession } from "../session";
import { go, href, times, useLoad, usePlace, type View } from "../state";
import { Dialog, Trouble } from "./common";
import { Text } from "./text";

export interface Command {
  name: string;
  to: View;
}
interface Choice {
  key: string;
  text: string;
  kind: string;
  to: string;
}
const MOST = 6;
const PAUSE = 150; // ms without a letter after which the service is asked

export function Palette({ commands, close }: { commands: Command[]; close: () => void }) {
  const { namespace } = useSession();
  const { as_of, known_at } = times(usePlace());
  const [text, write] = useState("");
  const [settled, settle] = useState("");
  const [at, stand] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const wanted = text.trim();
  useEffect(() => {
    const timer = setTimeout(() => settle(wanted), PAUSE);
    return () => clearTimeout(timer);
  }, [wanted]);
  const found = useLoad(`palette ${namespace} ${settled} ${as_of} ${known_at}`, async (signal) => {
    if (!settled) return null;
    const when = { as_of: as_of ?? undefined, known_at: known_at ?? undefined };
    const [entities, memories] = await Promise.all([
      quietly("get", "/api/v1/entities", { query: { query: settled, limit: MOST, ...when }, namespace, signal }),
      quietly("get", "/api/v1/memory/search", { query: { q: settled, limit: MOST, ...when }, namespace, signal }),
    ]);
    return { entities: entities.items, memories: memories.results };
  });
  const letters = wanted.toLocaleLowerCase();
  const choices: Choice[] = [
    ...commands.filter((each) => each.name.toLocaleLowerCase().includes(letters)).map((each) => ({ key: `view ${each.to}`, text: each.name, kind: "view", to: href(each.to) })),
    ...(wanted ? [{ key: "ask", text: `Ask “${wanted}”`, kind: "question", to: href("ask", { q: wanted }) }] : []),
    ...(wanted && found.data ? found.data.entities : []).map((each) => ({ key: each.id, text: each.name, kind: each.type, to: href("constellation", { focus: each.id }) })),
    ...(wanted && found.data ? found.data.memories : []).map((each) => ({ key: each.id, text: each.content, kind: "memory", to: href("memory", { id: each.id }) })),
  ];
  const now = Math.min(at, choices.length - 1);
  const take = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    go(choice.to);
    document.getElementById("main")?.focus({ preventScroll: true });
  };
  const move = (to: number) => {
    stand(to);
    requestAnimationFrame(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }));
  };
  const key = (event: KeyboardEvent) => {
    const acts: Record<string, () => void> = {
      ArrowDown: () => move((now + 1) % choices.length),
      ArrowUp: () => move((now - 1 + choices.length) % choices.length),
      Enter: () => take(choices[now]),
    };
    if (!acts[event.key] || event.isComposing) return;
    event.preventDefault();
    acts[event.key]!();
  };
  return (
    <Dialog title="Go to" close={close}>
      <div class="palette">
        <input
          {...{ type: "text", role: "combobox" }}
          aria-label="View, entity or memory"
          aria-expanded="true"
          aria-controls="palette-choices"
          aria-activedescendant={choices.length ? `choice-${now}` : undefined}
          autocomplete="off"
          placeholder="View, entity or memory"
          value={text}
          onInput={(event) => (write(event.currentTarget.value), stand(0))}
          onKeyDown={key}
        />
        <Trouble error={found.error} />
        <ul id="palette-choices" role="listbox" aria-label="Where to go" aria-busy={found.loading} ref={list}>
          {choices.map((each, nth) => (
            <li key={each.key} id={`choice-${nth}`} role="option" aria-selected={nth === now} onMouseMove={() => nth !== now && stand(nth)} onClick={() => take(each)}>
              <Text of={each.text} cut={90} />
              <span class="quiet"><Text of={each.kind} cut={24} /></span>
            </li>
          ))}
        </ul>
        {!choices.length && <p class="quiet">Nothing has this name.</p>}
      </div>
    </Dialog>
  );
}
