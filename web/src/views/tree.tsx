/** The hierarchy as a tree, and the categories, with counts. A memory is moved by drag or by keys; what is refused says why. */
import { useMemo, useRef, useState } from "preact/hooks";
import { call, Fault, type Schemas } from "../api/client";
import { count, many } from "../format";
import { Empty, Loading, Section, sentence, Trouble } from "../parts/common";
import { Text } from "../parts/text";
import { mayWrite, useSession } from "../session";
import { changed, go, href, say, times, useLoad, usePlace } from "../state";

type Memory = Schemas["MemoryOut"];
const PAGE = 1000;
const PAGES = 3;
const LAYERS = ["domain", "concept", "fact", "episode"];

interface Node {
  memory: Memory;
  children: Node[];
  below: number;
}

async function readAll(namespace: string, query: object, signal: AbortSignal): Promise<{ items: Memory[]; more: boolean }> {
  const items: Memory[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const found = await call("get", "/api/v1/memories", { query: { ...query, limit: PAGE, cursor }, namespace, signal });
    items.push(...found.items);
    if (!found.next_cursor) return { items, more: false };
    cursor = found.next_cursor;
  }
  return { items, more: true };
}

/** What stands under what; a memory that stands alone is not in it, unless all are asked for. */
function plant(items: Memory[], alone: boolean): Node[] {
  const nodes = new Map(items.map((memory) => [memory.id, { memory, children: [], below: 0 } as Node]));
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const parent = node.memory.parent_id ? nodes.get(node.memory.parent_id) : undefined;
    (parent ? parent.children : roots).push(node);
  }
  const order = (list: Node[]) => list.sort((a, b) => a.memory.layer - b.memory.layer || a.memory.content.localeCompare(b.memory.content) || (a.memory.id < b.memory.id ? -1 : 1));
  const sum = (node: Node): number => {
    order(node.children);
    node.below = node.children.reduce((all, each) => all + 1 + sum(each), 0);
    return node.below;
  };
  roots.forEach(sum);
  return order(alone ? roots : roots.filter((each) => each.children.length || each.memory.parent_id));
}

export function Tree() {
  const place = usePlace();
  const { namespace } = useSession();
  const { as_of, known_at } = times(place);
  const category = place.params.get("category") ?? undefined;
  const at = { as_of: as_of ?? undefined, known_at: known_at ?? undefined };
  const found = useLoad(`tree ${namespace} ${category} ${as_of} ${known_at}`, (signal) => readAll(namespace, { category, ...at }, signal));
  const categories = useLoad(`categories ${namespace} ${as_of} ${known_at}`, (signal) => call("get", "/api/v1/categories", { query: at, namespace, signal }));
  const alone = place.params.get("alone") === "1";
  const roots = useMemo(() => (found.data ? plant(found.data.items, alone) : []), [found.data, alone]);
  const standing = found.data ? found.data.items.length - roots.reduce((all, each) => all + 1 + each.below, 0) : 0;
  return (
    <div class="tree">
      <h1>Tree</h1>
      <Trouble error={found.error ?? categories.error} />
      <div class="columns">
        <Section title="Hierarchy" note={found.data && `${many(found.data.items.length, "memory", "memories")}${found.data.more ? ", only the newest are read" : ""}`}>
          {!found.data && !found.error && <Loading what="Reading the hierarchy…" />}
          {found.data && !roots.length && (
            <Empty>
              <strong>{found.data.more ? `None of the newest ${count(found.data.items.length)} stands under another.` : "Nothing stands under anything here."}</strong>{" "}
              {found.data.more && "Choose a category to look into older ones. "}A memory that is written with a parent, or moved under one, makes a tree.
            </Empty>
          )}
          {roots.length > 0 && <Branches roots={roots} reload={found.reload} past={as_of !== null || known_at !== null} />}
          {found.data && (standing > 0 || alone) && (
            <p class="hint">
              <a href={changed({ alone: alone ? null : 1 })}>{alone ? "Hide what stands alone" : `Show ${count(standing)} that stand alone`}</a>
            </p>
          )}
        </Section>
        <Section title="Categories">
          {category && (
            <p class="chips">
              <a class="chip on" href={changed({ category: null })} aria-label={`Without the filter category ${category}`}>
                category: <Text of={category} cut={60} /> <span aria-hidden="true">×</span>
              </a>
            </p>
          )}
          <ul class="kinds">
            {(categories.data?.items ?? []).map((each) => (
              <li key={each.category} style={{ "--deep": String(each.category.split("/").length - 1) }}>
                <a href={changed({ category: each.category })}>
                  <Text of={each.category.split("/").at(-1)!} cut={60} />
                </a>
                <span class="n" title={`${count(each.memories)} in it`}>{count(each.total)}</span>
              </li>
            ))}
          </ul>
        </Section>
      </div>
    </div>
  );
}

interface Row {
  node: Node;
  deep: number;
  open: boolean;
}

function rowsOf(roots: Node[], closed: Set<string>, deep = 1): Row[] {
  return roots.flatMap((node) => {
    const open = !closed.has(node.memory.id);
    return [{ node, deep, open }, ...(open ? rowsOf(node.children, closed, deep + 1) : [])];
  });
}

/** A tree as ARIA has it: one stop for the Tab key, arrows move within. */
function Branches({ roots, reload, past }: { roots: Node[]; reload: () => void; past: boolean }) {
  const session = useSession();
  const place = usePlace();
  const [closed, close] = useState<Set<string>>(new Set());
  const [carried, carry] = useState<string | null>(null);
  const [over, hover] = useState<string | null>(null);
  const dragged = useRef<string | null>(null); // known at once; what is drawn follows
  const list = useRef<HTMLUListElement>(null);
  const rows = rowsOf(roots, closed);
  const at = Math.max(0, rows.findIndex((each) => each.node.memory.id === place.params.get("id")));
  const may = mayWrite(session) && !past;
  const name = (id: string | null) => rows.find((each) => each.node.memory.id === id)?.node.memory.content.slice(0, 60) ?? "";
  const stand = (row: Row | undefined) => {
    if (!row) return;
    go(changed({ id: row.node.memory.id }), { replace: true });
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>(`[data-id="${row.node.memory.id}"]`)?.focus());
  };
  const move = async (id: string, parent: string | null) => {
    carry(null);
    hover(null);
    if (id === parent) return;
    try {
      await call("patch", "/api/v1/memories/{id}", { path: { id }, body: { parent_id: parent }, namespace: session.namespace });
      say(parent ? `Moved under “${name(parent)}”.` : "It stands under nothing now.");
      reload();
    } catch (error) {
      say(`Not moved. ${sentence(error instanceof Fault ? `${error.message}${error.hint ? `; ${error.hint}` : ""}` : String(error))}`, true);
    }
  };
  const toggle = (id: string, open: boolean) => close((old) => (open ? new Set([...old].filter((each) => each !== id)) : new Set([...old, id])));
  const key = (event: KeyboardEvent) => {
    const row = rows[at]!;
    const { id, parent_id } = row.node.memory;
    const acts: Record<string, () => void> = {
      ArrowDown: () => stand(rows[at + 1]),
      ArrowUp: () => stand(rows[at - 1]),
      Home: () => stand(rows[0]),
      End: () => stand(rows.at(-1)),
      ArrowRight: () => (row.node.children.length && !row.open ? toggle(id, true) : stand(row.node.children.length ? rows[at + 1] : undefined)),
      ArrowLeft: () => (row.node.children.length && row.open ? toggle(id, false) : stand(rows.find((each) => each.node.memory.id === parent_id))),
      Enter: () => go(href("memory", { id })),
      m: () => may && carry(carried === id ? null : id),
      p: () => may && carried && void move(carried, id),
      Delete: () => may && parent_id && void move(id, null),
      Escape: () => carry(null),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !acts[event.key] || event.target instanceof HTMLAnchorElement) return;
    event.preventDefault();
    acts[event.key]!();
  };
  return (
    <>
      <ul class="branches" role="tree" aria-label="Hierarchy" ref={list} onKeyDown={key}>
        {rows.map(({ node, deep, open }, nth) => {
          const { memory } = node;
          return (
            <li
              key={memory.id}
              role="treeitem"
              data-id={memory.id}
              tabIndex={nth === at ? 0 : -1}
              aria-level={deep}
              aria-selected={nth === at}
              aria-expanded={node.children.length ? open : undefined}
              class={`${carried === memory.id ? "carried" : ""}${over === memory.id ? " over" : ""}`}
              style={{ "--deep": String(deep - 1) }}
              draggable={may}
              onClick={() => stand(rows[nth])}
              onDragStart={(event) => {
                event.dataTransfer!.setData("text/plain", memory.id);
                dragged.current = memory.id;
                setTimeout(() => carry(memory.id)); // what changes the source at once ends the drag
              }}
              onDragOver={(event) => {
                if (!dragged.current) return;
                event.preventDefault();
                if (over !== memory.id) hover(memory.id);
              }}
              onDragEnd={() => {
                dragged.current = null;
                hover(null);
                carry(null);
              }}
              onDrop={(event) => {
                event.preventDefault();
                if (dragged.current) void move(dragged.current, memory.id);
                dragged.current = null;
              }}
            >
              <span class="twig" aria-hidden="true" onClick={() => node.children.length && toggle(memory.id, !open)}>
                {node.children.length ? (open ? "▾" : "▸") : "·"}
              </span>
              <a href={href("memory", { id: memory.id })} tabIndex={-1} draggable={false}>
                <Text of={memory.content} cut={160} />
              </a>
              <span class="quiet n">
                {LAYERS[memory.layer] ?? memory.layer}
                {node.below > 0 && ` · ${count(node.below)}`}
              </span>
            </li>
          );
        })}
      </ul>
      {/* below: what it says changes while something is carried, and rows must not move then */}
      {may && (
        <p class="hint quiet" role="status">
          {carried ? (
            <>
              Carrying “<Text of={name(carried)} />”: <kbd>p</kbd> puts it under the line where you stand, <kbd>Esc</kbd> lets it go.
            </>
          ) : (
            <>
              Drag a memory under another; or <kbd>m</kbd> to take the line where you stand, <kbd>p</kbd> to put it, <kbd>Del</kbd> to take it out.
            </>
          )}
        </p>
      )}
    </>
  );
}
