/** The map of a namespace, as the service sends it: a header, and columns in network byte order. */
import { address, Fault, note, numbered } from "../api/client";
import { when } from "../format";

export type Method = "pca" | "umap";

export interface Cloud {
  points: number;
  dims: number;
  model: string | null;
  fitted: number | null;
  method: Method;
  added?: number; // by UMAP: placed since it was laid out
  waiting?: number; // by UMAP: not placed yet
  ids: Uint8Array;
  places: Float32Array;
  from: Float64Array;
  to: Float64Array;
  recorded: Float64Array;
  layer: Int32Array;
  category: Int32Array;
  source: Int32Array;
  session: Int32Array;
  categories: string[];
  sources: string[];
  sessions: string[];
  cluster: Int32Array | null; // null: not asked for
  clusters?: string[];
}

interface Header {
  points: number;
  dims: number;
  model: string | null;
  fitted: number | null;
  method: Method;
  added?: number;
  waiting?: number;
  categories: string[];
  sources: string[];
  sessions: string[];
  clusters?: string[];
}

const PATH = "/api/v1/embeddings/projection";

/** Null: nobody has asked for a map by UMAP yet. */
export async function fetchCloud(namespace: string, method: Method, dims: number, known_at: string | null, clusters: boolean, signal: AbortSignal): Promise<Cloud | null> {
  const url = address(PATH);
  url.searchParams.set("dims", String(dims));
  if (method !== "pca") url.searchParams.set("method", method);
  if (known_at) url.searchParams.set("known_at", known_at);
  if (clusters) url.searchParams.set("clusters", "true");
  const number = numbered();
  let reply: Response;
  try {
    reply = await fetch(url, { headers: { "X-Namespace": namespace }, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Fault(0, "The service does not answer.");
  }
  if (!reply.ok) {
    const problem = await reply.json().catch(() => null);
    if (reply.status === 404 && method === "umap" && problem?.hint) return null;
    throw new Fault(reply.status, problem?.detail ?? `the service answered ${reply.status}`, problem?.hint ?? null);
  }
  const cloud = parse(await reply.arrayBuffer());
  const query = { dims, ...(method === "pca" ? {} : { method }), ...(known_at ? { known_at } : {}), ...(clusters ? { clusters } : {}) };
  note({ method: "get", path: PATH, parts: {}, query, body: undefined, namespace, number, reply: () => ({ items: Array.from({ length: cloud.points }, (_, n) => pointOf(cloud, n)) }) });
  return cloud;
}

/** A point in words and numbers. */
export function pointOf(cloud: Cloud, n: number): Record<string, unknown> {
  const moment = (seconds: number) => (Number.isFinite(seconds) ? new Date(seconds * 1000).toISOString() : null);
  return { id: idOf(cloud, n), category: cloud.categories[cloud.category[n]!], layer: cloud.layer[n], ...(cloud.cluster ? { cluster: cloud.clusters?.[cloud.cluster[n]!] } : {}), source: cloud.sources[cloud.source[n]!] ?? null, session_id: cloud.sessions[cloud.session[n]!] ?? null, x: cloud.places[3 * n], y: cloud.places[3 * n + 1], z: cloud.places[3 * n + 2], valid_from: moment(cloud.from[n]!), valid_to: moment(cloud.to[n]!), recorded_at: moment(cloud.recorded[n]!) };
}

function parse(body: ArrayBuffer): Cloud {
  const view = new DataView(body);
  const size = view.getUint32(8);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(body, 12, size))) as Header;
  const { points, dims } = header;
  let at = 12 + size;
  const ids = new Uint8Array(body, at, 16 * points);
  at += 16 * points;
  const column = <T extends Float32Array | Float64Array | Int32Array>(into: T, bytes: number, read: (at: number) => number): T => {
    for (let n = 0; n < into.length; n++) into[n] = read(at + n * bytes);
    at += into.length * bytes;
    return into;
  };
  const [float, double, short, int] = [(n: number) => view.getFloat32(n), (n: number) => view.getFloat64(n), (n: number) => view.getInt16(n), (n: number) => view.getInt32(n)];
  const flat = column(new Float32Array(points * dims), 4, float);
  const cloud = {
    ...header,
    ids,
    places: spread(flat, dims),
    from: column(new Float64Array(points), 8, double),
    to: column(new Float64Array(points), 8, double),
    recorded: column(new Float64Array(points), 8, double),
    layer: column(new Int32Array(points), 2, short),
    category: column(new Int32Array(points), 4, int),
    source: column(new Int32Array(points), 4, int),
    session: column(new Int32Array(points), 4, int),
    cluster: header.clusters ? column(new Int32Array(points), 2, short) : null,
  };
  return cloud;
}

/** Three numbers a point, the widest from −1 to 1. */
function spread(flat: Float32Array, dims: number): Float32Array {
  let most = 1e-9;
  for (const each of flat) most = Math.max(most, Math.abs(each));
  const made = new Float32Array((flat.length / dims) * 3);
  for (let n = 0; n < flat.length / dims; n++) {
    for (let d = 0; d < dims; d++) made[3 * n + d] = flat[dims * n + d]! / most;
  }
  return made;
}

const HEX = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, "0"));
export function idOf(cloud: Cloud, n: number): string {
  const text = Array.from(cloud.ids.subarray(16 * n, 16 * n + 16), (each) => HEX[each]).join("");
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`;
}

export const COLOURINGS = ["category", "cluster", "layer", "session", "source", "age"] as const;
export type Colouring = (typeof COLOURINGS)[number];
export const KINDS = 8;
const LAYERS = ["domain", "concept", "fact", "episode"];

export interface Colours {
  of: Uint8Array;
  names: string[];
  ramp: boolean;
}

/** A colour for each point: of the seven most frequent names one each, of all others the last; of age, eight steps. */
export function colour(cloud: Cloud, by: Colouring): Colours {
  const of = new Uint8Array(cloud.points);
  if (by === "age") {
    const order = Float64Array.from(cloud.from).sort();
    const steps = [...new Set(Array.from({ length: KINDS - 1 }, (_, n) => order[Math.floor(((n + 1) * order.length) / KINDS)]!))].filter((step) => step > order[0]!);
    for (let n = 0; n < of.length; n++) of[n] = steps.filter((step) => cloud.from[n]! >= step).length + (KINDS - 1 - steps.length);
    const day = (seconds: number) => when(seconds * 1000);
    return { of, names: [...Array<string>(KINDS - 1 - steps.length).fill(""), steps[0] === undefined ? `from ${day(order[0]!)}` : `before ${day(steps[0])}`, ...steps.map((step) => `from ${day(step)}`)], ramp: true };
  }
  const named = { category: cloud.categories, cluster: cloud.clusters ?? [], source: cloud.sources, session: cloud.sessions, layer: LAYERS }[by];
  const column = cloud[by];
  if (!column) return { of, names: [], ramp: false }; // on its way
  for (let n = 0; n < of.length; n++) of[n] = column[n]! < 0 ? KINDS - 1 : Math.min(column[n]!, KINDS - 1);
  const names = named.slice(0, KINDS - 1);
  const others = named.length > names.length || column.some((each) => each < 0);
  return { of, names: others ? [...names, ...Array<string>(KINDS - 1 - names.length).fill(""), by === "category" ? "others" : "others or none"] : names, ramp: false };
}
