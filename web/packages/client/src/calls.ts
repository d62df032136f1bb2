/** Calls of the service. Paths, queries, bodies and replies have the types of the OpenAPI document. */
import type { components, paths } from "./schema.d.ts";

export type { paths };
export type Schemas = components["schemas"];
export type Method = "get" | "post" | "patch" | "delete" | "put";
export type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;
type JsonOf<T> = T extends { content: { "application/json": infer R } } ? R : never;
type Replies<R> = { [S in keyof R]: S extends 200 | 201 | 202 ? JsonOf<R[S]> : never }[keyof R];
export type Reply<O> = O extends { responses: infer R } ? Replies<R> : never;
type Part<O, K extends string> = O extends { parameters: { [k in K]?: infer Q } } ? NonNullable<Q> : never;
type BodyOf<O> = O extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;
/** What a body may leave out: fields with a default are optional to whoever sends it. */
export type Sent<B> = B extends object ? Partial<B> : B;
export type Fields<P extends keyof paths, M extends Method> = Sent<BodyOf<Operation<P, M>>>;
export type Query<P extends keyof paths, M extends Method> = Part<Operation<P, M>, "query">;

export interface Options<O> {
  path?: [Part<O, "path">] extends [never] ? never : Part<O, "path">;
  query?: [Part<O, "query">] extends [never] ? never : Part<O, "query">;
  body?: Sent<BodyOf<O>>;
  namespace?: string | null;
  signal?: AbortSignal;
}

/** A problem document (RFC 9457), or that nothing answered (status 0). */
export class Fault extends Error {
  readonly status: number;
  readonly hint: string | null;
  /** The last part of the problem's type, such as not-found. */
  readonly slug: string;

  constructor(status: number, detail: string, hint: string | null = null, slug = "") {
    super(detail);
    this.name = "Fault";
    this.status = status;
    this.hint = hint;
    this.slug = slug;
  }

  /** Whether the service could not be asked, so that asking again may help. */
  get away(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

export async function faultOf(reply: Response): Promise<Fault> {
  const problem = (await reply.json().catch(() => null)) as Schemas["Problem"] | null;
  const said = problem?.detail ?? `the service answered ${reply.status}`;
  return new Fault(reply.status, said, problem?.hint ?? null, problem?.type?.split(":").pop() ?? "");
}

/** Where the service is, and what goes with every request. */
export interface Target {
  /** What paths such as /api/v1/memories are put behind. */
  address: (path: string) => URL;
  headers?: Record<string, string>;
  credentials?: RequestCredentials;
  /** How far the log of the database was after the last write, where there are standbys: reads must show it. */
  position?: string;
}

/** The further of two positions in the log: two numbers in base 16 with / between. */
function further(one: string | undefined, other: string): string {
  const number = (position: string) => position.split("/").reduce((sum, part) => sum * 2 ** 32 + Number.parseInt(part, 16), 0);
  return one !== undefined && number(one) > number(other) ? one : other;
}

/** Make a request and read its reply. Throws Fault. */
export async function request<P extends keyof paths, M extends Method>(
  target: Target,
  method: M,
  path: P,
  options: Options<Operation<P, M>> = {},
): Promise<Reply<Operation<P, M>>> {
  const filled = String(path).replace(/\{(\w+)\}/g, (_, name) =>
    segment(String((options.path as unknown as Record<string, string>)[name])),
  );
  const url = target.address(filled);
  for (const [name, value] of Object.entries(options.query ?? {})) {
    if (value === null || value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(each));
  }
  const headers: Record<string, string> = { ...target.headers };
  if (target.position) headers["X-Loci-Position"] = target.position;
  if (options.namespace) headers["X-Namespace"] = options.namespace;
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  const body = options.body === undefined ? undefined : JSON.stringify(options.body);
  const { signal } = options;
  const { credentials } = target;
  let reply: Response;
  try {
    reply = await fetch(url, { method: method.toUpperCase(), headers, body, signal, credentials });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Fault(0, "The service does not answer.");
  }
  const position = reply.headers.get("X-Loci-Position");
  if (position) target.position = further(target.position, position);
  if (!reply.ok) throw await faultOf(reply);
  return (reply.status === 204 ? null : await reply.json()) as Reply<Operation<P, M>>;
}

/** Text as one segment of a path, also where it is only dots, which addresses fold. */
function segment(text: string): string {
  return /^\.{1,2}$/.test(text) ? text.replaceAll(".", "%2E") : encodeURIComponent(text);
}
