/** A question of the page in the words of curl, of Python and of SQL. A key is never in them. */
import type { Asked, Schemas } from "../api/client";

const BINARY = "/api/v1/embeddings/projection";

/** The address of a question, behind `base`. */
function addressOf(of: Asked, base: string): string {
  const path = of.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(of.parts[name] ?? ""));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(of.query)) {
    if (value === null || value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each));
  }
  return `${base}${path}${query.size ? `?${query}` : ""}`;
}

/** A word of a POSIX shell that means just this text. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export function curl(of: Asked, base: string, keyed: boolean): string {
  const lines = [`curl -sS ${quoted(addressOf(of, base))}`];
  if (of.namespace) lines.push(`-H ${quoted(`x-namespace: ${of.namespace}`)}`);
  if (keyed) lines.push(`-H "authorization: Bearer $LOCI_KEY"`);
  if (of.body !== undefined) lines.push("-H 'content-type: application/json'", `-d ${quoted(JSON.stringify(of.body))}`);
  if (of.path === BINARY) lines.push("-o map.bin");
  return lines.join(" \\\n  ");
}

/** A value as Python writes it. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).replace(/\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}/g, (pair) => JSON.parse(`"${pair}"`));
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  return `{${Object.entries(value as object)
    .filter(([, each]) => each !== undefined)
    .map(([name, each]) => `${literal(name)}: ${literal(each)}`)
    .join(", ")}}`;
}

export function python(of: Asked, base: string, keyed: boolean): string {
  const headers = [...(of.namespace ? [`"x-namespace": ${literal(of.namespace)}`] : []), ...(keyed ? [`"authorization": f"Bearer {os.environ['LOCI_KEY']}"`] : [])];
  const given = [literal(addressOf(of, base)), ...(headers.length ? [`headers={${headers.join(", ")}}`] : []), ...(of.body === undefined ? [] : [`json=${literal(of.body)}`]), "timeout=60"];
  return `${keyed ? "import os\n\n" : ""}import httpx\n\nreply = httpx.${of.method}(\n    ${given.join(",\n    ")},\n)\nreply.raise_for_status()\n${of.path === BINARY ? "print(len(reply.content))" : "print(reply.json())"}\n`;
}

/** Functions of the schema for people that answer the same, by path. `id`: what the part of the path is called there. */
const FUNCTIONS: Record<string, { name: string; part?: string; uuid?: boolean; filter?: boolean }> = {
  "/api/v1/memories": { name: "list_memories", filter: true },
  "/api/v1/memories/{id}": { name: "get_memory", part: "id", uuid: true },
  "/api/v1/memories/{id}/history": { name: "history", part: "ref" },
  "/api/v1/memories/{id}/ancestors": { name: "ancestors", part: "id", uuid: true },
  "/api/v1/memories/{id}/subtree": { name: "subtree", part: "id", uuid: true },
  "/api/v1/memories/{id}/links": { name: "list_links", part: "id", uuid: true },
  "/api/v1/categories": { name: "list_categories" },
  "/api/v1/knowledge/constellation": { name: "constellation" },
  "/api/v1/edges": { name: "list_edges" },
  "/api/v1/entities": { name: "list_entities" },
  "/api/v1/merges": { name: "list_merges" },
  "/api/v1/graph/traverse": { name: "traverse" },
  "/api/v1/operations": { name: "list_operations" },
  "/api/v1/operations/{id}/changes": { name: "operation_changes", part: "id", uuid: true },
  "/api/v1/recalls": { name: "list_recalls" },
  "/api/v1/recalls/{id}": { name: "get_recall", part: "id", uuid: true },
  "/api/v1/working-memory": { name: "list_working_memory" },
  "/api/v1/conversations": { name: "list_conversations" },
  "/api/v1/conversations/{session}/turns": { name: "list_turns", part: "session_id" },
};
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const OWN = ["limit", "cursor", "as_of", "known_at", "all_versions"]; // the others of a list of memories are filters

const text = (value: string): string => `${value.includes("\\") ? "E" : ""}'${value.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
const constant = (value: unknown): string => {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return `array[${value.map(constant).join(", ")}]`;
  return text(typeof value === "object" ? JSON.stringify(value) : String(value));
};

/** Of a recall what its words find: its meaning takes a vector, which the service makes and psql has not. */
function recalled(of: Asked): string {
  const { query, k, as_of, known_at, filters } = of.body as Partial<Schemas["RecallInput"]>;
  const given: [string, unknown][] = [["namespace", of.namespace ?? "default"], ["query", query], ["limit", k ?? 10], ["filter", filters], ["as_of", as_of], ["known_at", known_at]];
  const values = given.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return [
    "-- What the words of the question find: one arm of this recall. Its meaning is a vector, which the service makes;",
    "-- whoever has one asks loci.similar_memories. Neighbours, decay and fusion are the service's alone.",
    "select s.score, m.id, m.content, m.valid_from, m.valid_to",
    `from loci.search_text(${values.map(([name, value]) => `p_${name} => ${constant(value)}`).join(", ")}) s`,
    `join loci.memory_versions m on m.namespace = ${constant(of.namespace ?? "default")} and m.id = s.id`,
    "order by s.score desc, s.doc_id;",
    "",
  ].join("\n");
}

/** The same as a query of the schema `loci`, which analysts may read; null: no function there answers it. */
export function sql(of: Asked): string | null {
  if (of.path === "/api/v1/recall") return recalled(of);
  const known = FUNCTIONS[of.path];
  const [part] = Object.values(of.parts);
  if (!known || (known.uuid && !UUID.test(part ?? ""))) return null;
  const given = { ...of.query, ...(of.body as object | undefined) };
  const entries = Object.entries(given).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const filters = known.filter ? Object.fromEntries(entries.filter(([name]) => !OWN.includes(name))) : {};
  const values: [string, unknown][] = [["namespace", of.namespace ?? "default"], ...(known.part ? [[known.part, part] as [string, unknown]] : []), ...entries.filter(([name]) => !(name in filters)), ...(Object.keys(filters).length ? [["filter", filters] as [string, unknown]] : [])];
  return `select *\nfrom loci.${known.name}(${values.map(([name, value]) => `p_${name} => ${constant(value)}`).join(", ")});\n`;
}
