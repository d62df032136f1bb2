/** Calls of the service by the page: those of the TypeScript client, at addresses relative to the page's own. */
import { Fault, faultOf, request, type Method, type Operation, type Options, type paths, type Reply, type Target } from "../../packages/client/src/calls";

export { Fault, faultOf, type Schemas } from "../../packages/client/src/calls";

/** The address of a path of the API, under whatever prefix the page itself has. */
export const address = (path: string): URL => new URL(`.${path}`, location.href);
const target: Target = { address, credentials: "same-origin" };

/** A question of the frame around the views. */
export const quietly = <P extends keyof paths, M extends Method>(
  method: M,
  path: P,
  options: Options<Operation<P, M>> = {},
): Promise<Reply<Operation<P, M>>> => request(target, method, path, options);

/** A question that a view asked, and what it shows of the reply: so that both can be taken away. */
export interface Asked {
  method: Method;
  path: string;
  parts: Record<string, string>;
  query: Record<string, unknown>;
  body: unknown;
  namespace: string | null;
  /** Which question it was: they are numbered as they are asked. */
  number: number;
  reply: () => unknown;
}
let questions = 0;
export const numbered = (): number => ++questions;
const asked = new Map<string, Asked>();
const READS = ["/api/v1/recall", "/api/v1/recall/why-not", "/api/v1/context", "/api/v1/graph/traverse", "/api/v1/memories/current"];

/** The question of each kind that was asked last, whichever is answered last. Further pages belong to the first one. */
export function note(of: Asked): void {
  const key = `${of.method} ${of.path}`;
  const { cursor, ...query } = of.query;
  const before = asked.get(key);
  const said = of.reply;
  if (before && before.number > of.number) return;
  if (cursor && before) asked.set(key, { ...before, reply: () => joined(before.reply(), said()) });
  else asked.set(key, { ...of, query });
}
export const allAsked = (): Asked[] => [...asked.values()];
export const forgetAsked = (): void => asked.clear();

function joined(first: unknown, more: unknown): unknown {
  const [one, two] = [first, more] as { items?: unknown[] }[];
  return { ...two, items: [...(one?.items ?? []), ...(two?.items ?? [])] };
}

export const call = async <P extends keyof paths, M extends Method>(
  method: M,
  path: P,
  options: Options<Operation<P, M>> = {},
): Promise<Reply<Operation<P, M>>> => {
  const number = numbered();
  const reply = await quietly(method, path, options);
  if (method === "get" || READS.includes(path)) {
    const { path: parts, query, body, namespace, signal } = options as { path?: Record<string, string>; query?: Record<string, unknown>; body?: unknown; namespace?: string | null; signal?: AbortSignal };
    if (!signal?.aborted) note({ method, path, parts: parts ?? {}, query: query ?? {}, body, namespace: namespace ?? null, number, reply: () => reply });
  }
  return reply;
};

/** Exchange a key for a session: a cookie that no script can read. */
export async function signIn(key: string): Promise<void> {
  const reply = await fetch(address("/api/v1/session"), { method: "POST", headers: { Authorization: `Bearer ${key}` } }).catch(() => null);
  if (!reply) throw new Fault(0, "The service does not answer.");
  if (!reply.ok) throw await faultOf(reply);
}

export async function signOut(): Promise<void> {
  await fetch(address("/api/v1/session"), { method: "DELETE" });
}
