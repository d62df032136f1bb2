/** Calls of the service. Paths, queries and replies have the types of the OpenAPI document; addresses are relative to the page's. */
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
type Method = "get" | "post" | "patch" | "delete" | "put";
type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;
type JsonOf<T> = T extends { content: { "application/json": infer R } } ? R : never;
type Reply<O> = O extends { responses: infer R } ? { [S in keyof R]: S extends 200 | 201 | 202 ? JsonOf<R[S]> : never }[keyof R] : never;
type Part<O, K extends string> = O extends { parameters: { [k in K]?: infer Q } } ? NonNullable<Q> : never;
type BodyOf<O> = O extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;
/** What a body may leave out: fields with a default are optional to whoever sends it. */
type Sent<B> = B extends object ? Partial<B> : B;

export type With<P extends keyof paths, M extends Method> = { [P2 in P]: Operation<P2, M> extends never ? never : P2 }[P];
export interface Options<O> {
  path?: [Part<O, "path">] extends [never] ? never : Part<O, "path">;
  query?: [Part<O, "query">] extends [never] ? never : Part<O, "query">;
  body?: Sent<BodyOf<O>>;
  namespace?: string | null;
  signal?: AbortSignal;
}

/** A problem document (RFC 9457), or that nothing answered (status 0). */
export class Fault extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly hint: string | null = null,
    readonly slug = "",
  ) {
    super(detail);
  }
  get away(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

async function faultOf(reply: Response): Promise<Fault> {
  const problem = (await reply.json().catch(() => null)) as Schemas["Problem"] | null;
  const said = problem?.detail ?? `the service answered ${reply.status}`;
  return new Fault(reply.status, said, problem?.hint ?? null, problem?.type?.split(":").pop() ?? "");
}

/** The address of a path of the API, under whatever prefix the page itself has. */
export const address = (path: string): URL => new URL(`.${path}`, location.href);

export async function call<P extends keyof paths, M extends Method>(
  method: M,
  path: P,
  options: Options<Operation<P, M>> = {},
): Promise<Reply<Operation<P, M>>> {
  const filled = String(path).replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(String((options.path as unknown as Record<string, string>)[name])),
  );
  const url = address(filled);
  for (const [name, value] of Object.entries(options.query ?? {})) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, String(value));
  }
  const headers: Record<string, string> = {};
  if (options.namespace) headers["X-Namespace"] = options.namespace;
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  const body = options.body === undefined ? undefined : JSON.stringify(options.body);
  let reply: Response;
  try {
    reply = await fetch(url, { method: method.toUpperCase(), headers, body, signal: options.signal, credentials: "same-origin" });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Fault(0, "The service does not answer.");
  }
  if (!reply.ok) throw await faultOf(reply);
  return (reply.status === 204 ? null : await reply.json()) as Reply<Operation<P, M>>;
}

/** Exchange a key for a session: a cookie that no script can read. */
export async function signIn(key: string): Promise<void> {
  const reply = await fetch(address("/api/v1/session"), { method: "POST", headers: { Authorization: `Bearer ${key}` } }).catch(() => null);
  if (!reply) throw new Fault(0, "The service does not answer.");
  if (!reply.ok) throw await faultOf(reply);
}

export async function signOut(): Promise<void> {
  await fetch(address("/api/v1/session"), { method: "DELETE" });
}
