/** A client of Loci: four verbs on top, groups by subject below, and `call` for every path of the OpenAPI document. */
import { request, type Fields, type Method, type Operation, type Options, type paths, type Reply, type Target } from "./calls.ts";
import * as groups from "./groups.ts";

export { Fault, type Schemas } from "./calls.ts";

const API = "/api/v1";

export interface Settings {
  /** Where the service is; default http://127.0.0.1:8420. */
  url?: string;
  /** API key; on loopback none is needed. */
  key?: string;
  /** Default: that of the key, or `default`. */
  namespace?: string;
  /** Own space in working memory, such as session/abc. */
  space?: string;
}

type Told = Omit<Fields<"/api/v1/remember", "post">, "messages">;
type Asked = Omit<Fields<"/api/v1/recall", "post">, "query">;
type Wanted = Omit<Fields<"/api/v1/context", "post">, "message">;
type Taken = Omit<Fields<"/api/v1/retain", "post">, "content">;
type Recalled = Reply<Operation<"/api/v1/recall", "post">>;
type Tier = Recalled["results"][number];
/** The name of a field of any member of a union. */
type AnyKey<U> = U extends unknown ? keyof U : never;
/** A union whose members have all its fields: those that one lacks are undefined, so that each can be read without asking. */
type Readable<U, All extends PropertyKey = AnyKey<U>> = U extends unknown ? U & { [K in Exclude<All, keyof U>]?: undefined } : never;
/** A memory as a result of a recall. */
export type RecalledMemory = Extract<Tier, { tier: "memory" }>;
/** A result of a recall that asked for other tiers too: `tier` says what it is. */
export type RecallResult = Readable<Tier>;
/** What a recall found; without `arms` all its results are memories. */
export type Recall<R = RecalledMemory> = Omit<Recalled, "results"> & { results: R[] };
/** A message as OpenAI, Anthropic, LangChain or the Vercel AI SDK have it: a role, and a text or parts. */
export type Message = { role?: string; content?: unknown } & Record<string, unknown>;

export class LociClient {
  readonly #settings: Settings;
  readonly #target: Target;

  constructor(settings: Settings = {}) {
    const { url = "http://127.0.0.1:8420", key, namespace, space } = settings;
    const base = url.replace(/\/+$/, "");
    const headers: Record<string, string> = {};
    if (key) headers["Authorization"] = `Bearer ${key}`;
    if (namespace) headers["X-Namespace"] = namespace;
    if (space) headers["X-Space"] = space;
    this.#settings = settings;
    this.#target = { address: (path) => new URL(base + path), headers };
  }

  /**
   * Take in messages: they are kept as turns of a session, and what users and assistants tell in them is retained. A text is a
   * message of the user. The whole conversation may be sent each time: only what is new counts.
   */
  remember(messages: string | Message | readonly Message[], fields: Told = {}) {
    const said = typeof messages === "string" ? [{ role: "user", content: messages }] : [messages].flat();
    return this.call("post", `${API}/remember`, { body: { ...fields, messages: said as never } });
  }

  /**
   * Ask: memories that answer, best first, with constraints and entities. Where `arms` name them, entries of working memory and turns
   * of conversations are among the results.
   */
  recall(query: string, fields?: Asked & { arms?: null }): Promise<Recall>;
  recall(query: string, fields: Asked): Promise<Recall<RecallResult>>;
  recall(query: string, fields: Asked = {}): Promise<unknown> {
    return this.call("post", `${API}/recall`, { body: { ...fields, query } });
  }

  /** Everything to know before an answer, as sections and as text. */
  context(message: string, fields: Wanted = {}) {
    return this.call("post", `${API}/context`, { body: { ...fields, message } });
  }

  /** Take in a text, fact by fact. */
  retain(content: string, fields: Taken = {}) {
    return this.call("post", `${API}/retain`, { body: { ...fields, content } });
  }

  readonly memories: ReturnType<typeof groups.memoriesOf> = groups.memoriesOf(this.call.bind(this) as groups.Call);
  readonly hierarchy: ReturnType<typeof groups.hierarchyOf> = groups.hierarchyOf(this.call.bind(this) as groups.Call);
  readonly recalls: ReturnType<typeof groups.recallsOf> = groups.recallsOf(this.call.bind(this) as groups.Call);
  readonly graph: ReturnType<typeof groups.graphOf> = groups.graphOf(this.call.bind(this) as groups.Call);
  readonly facts: ReturnType<typeof groups.factsOf> = groups.factsOf(this.call.bind(this) as groups.Call);
  readonly sessions: ReturnType<typeof groups.sessionsOf> = groups.sessionsOf(this.call.bind(this) as groups.Call);
  readonly operations: ReturnType<typeof groups.operationsOf> = groups.operationsOf(this.call.bind(this) as groups.Call);
  readonly dreams: ReturnType<typeof groups.dreamsOf> = groups.dreamsOf(this.call.bind(this) as groups.Call);
  readonly jobs: ReturnType<typeof groups.jobsOf> = groups.jobsOf(this.call.bind(this) as groups.Call);
  readonly namespaces: ReturnType<typeof groups.namespacesOf> = groups.namespacesOf(this.call.bind(this) as groups.Call);
  readonly access: ReturnType<typeof groups.accessOf> = groups.accessOf(this.call.bind(this) as groups.Call);
  readonly models: ReturnType<typeof groups.modelsOf> = groups.modelsOf(this.call.bind(this) as groups.Call);
  readonly server: ReturnType<typeof groups.serverOf> = groups.serverOf(this.call.bind(this) as groups.Call);

  /** The same client in another namespace. */
  inNamespace(namespace: string): LociClient {
    const made = new LociClient({ ...this.#settings, namespace });
    made.#target.position = this.#target.position;
    return made;
  }

  /** Any call of the REST interface, by its path in the document. Throws Fault. */
  call<P extends keyof paths, M extends Method>(
    method: M,
    path: P,
    options: Options<Operation<P, M>> = {},
  ): Promise<Reply<Operation<P, M>>> {
    return request(this.#target, method, path, options);
  }
}
