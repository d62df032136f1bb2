/** The groups of the client: the calls of each subject by the names of the Python client. Parts of the path come first. */
import type { Fields, Method, Operation, Options, paths, Query, Reply } from "./calls.ts";

export type Call = <P extends keyof paths, M extends Method>(
  method: M,
  path: P,
  options?: Options<Operation<P, M>>,
) => Promise<Reply<Operation<P, M>>>;

/** Memories: written, read, changed, forgotten, erased; versions and links. */
export const memoriesOf = (call: Call) => ({
  /** Write a memory. An existing lineage gets a new version; an exact duplicate reinforces the memory that is there. */
  write: (content: NonNullable<Fields<"/api/v1/memories", "post">["content"]>, fields: Omit<Fields<"/api/v1/memories", "post">, "content"> = {}) =>
    call("post", "/api/v1/memories", { body: { ...fields, content } }),
  /** Write up to 10,000 memories in one request. Atomic: all or nothing; otherwise each item has its own result. */
  writeBatch: (body: Fields<"/api/v1/memories/batch", "post"> = {}, query: Query<"/api/v1/memories/batch", "post"> = {}) =>
    call("post", "/api/v1/memories/batch", { body, query }),
  /** List memories, newest first: those that are current, or were at `as_of` as believed at `known_at`. */
  list: (query: Query<"/api/v1/memories", "get"> = {}) =>
    call("get", "/api/v1/memories", { query }),
  /** Search by words alone, in BM25 order, with the entities that the question and each result name. */
  search: (query: Query<"/api/v1/memory/search", "get">) =>
    call("get", "/api/v1/memory/search", { query }),
  /** Read up to 1,000 lineages by name: of each the visible version, in the order asked; those without one are left out. */
  current: (body: Fields<"/api/v1/memories/current", "post"> = {}) =>
    call("post", "/api/v1/memories/current", { body }),
  /** One version of a memory, whatever its status. With `as_of`: the version of its lineage that was valid then. */
  get: (id: string, query: Query<"/api/v1/memories/{id}", "get"> = {}) =>
    call("get", "/api/v1/memories/{id}", { path: { id }, query }),
  /** Change what is said about a memory; `parent_id=null` detaches it, `valid_to=null` says that it still holds. */
  change: (id: string, body: Fields<"/api/v1/memories/{id}", "patch"> = {}) =>
    call("patch", "/api/v1/memories/{id}", { path: { id }, body }),
  /** Pairs of which the newer memory may outdate the older one and nobody has said which holds, newest first. */
  unsettled: (query: Query<"/api/v1/memories/unsettled", "get"> = {}) =>
    call("get", "/api/v1/memories/unsettled", { query }),
  /** Say which of two memories holds, this one or an older one. */
  settle: (id: string, body: Fields<"/api/v1/memories/{id}/settle", "post">) =>
    call("post", "/api/v1/memories/{id}/settle", { path: { id }, body }),
  /** Forget a memory: recall no longer finds it. `restore` takes it back. `already_forgotten`: it had been before. */
  forget: (id: string, query: Query<"/api/v1/memories/{id}", "delete"> = {}) =>
    call("delete", "/api/v1/memories/{id}", { path: { id }, query }),
  /** Take a forgetting back. */
  restore: (id: string) =>
    call("post", "/api/v1/memories/{id}/restore", { path: { id } }),
  /** Erase memories for good, all or none, with what rests on them; the reply is the receipt. */
  erase: (body: Fields<"/api/v1/memories/erase", "post"> = {}) =>
    call("post", "/api/v1/memories/erase", { body }),
  /** Every version of a memory's lineage, oldest first. `id` is that of any version, or the lineage's name. */
  history: (id: string, query: Query<"/api/v1/memories/{id}/history", "get"> = {}) =>
    call("get", "/api/v1/memories/{id}/history", { path: { id }, query }),
  /** Link a memory to another, or change the strength of the link. */
  link: (id: string, body: Fields<"/api/v1/memories/{id}/links", "post"> = {}) =>
    call("post", "/api/v1/memories/{id}/links", { path: { id }, body }),
  /** Links of a memory in both directions, strongest first. `as_of`: those of what was valid then, as strong as then. */
  listLinks: (id: string, query: Query<"/api/v1/memories/{id}/links", "get"> = {}) =>
    call("get", "/api/v1/memories/{id}/links", { path: { id }, query }),
  /** Take the link of this type to another memory back. */
  unlink: (id: string, target_id: string, query: Query<"/api/v1/memories/{id}/links/{target_id}", "delete"> = {}) =>
    call("delete", "/api/v1/memories/{id}/links/{target_id}", { path: { id, target_id }, query }),
  /** What rests on this version of a memory now: facts, edges and entities. */
  listDependents: (id: string, query: Query<"/api/v1/memories/{id}/dependents", "get"> = {}) =>
    call("get", "/api/v1/memories/{id}/dependents", { path: { id }, query }),
  /** Logged recalls that had this version of a memory in their answer, newest first, with its rating. */
  listRecalls: (id: string, query: Query<"/api/v1/memories/{id}/recalls", "get"> = {}) =>
    call("get", "/api/v1/memories/{id}/recalls", { path: { id }, query }),
  /** Categories in path order, with the number of memories in each, and in it and below. */
  listCategories: (query: Query<"/api/v1/categories", "get"> = {}) =>
    call("get", "/api/v1/categories", { query }),
});

/** Memories above and under others. */
export const hierarchyOf = (call: Call) => ({
  /** Memories under this one, nearest first, with their depth. */
  subtree: (id: string, query: Query<"/api/v1/memories/{id}/subtree", "get"> = {}) =>
    call("get", "/api/v1/memories/{id}/subtree", { path: { id }, query }),
  /** Memories above this one, nearest first, with their depth. */
  ancestors: (id: string, query: Query<"/api/v1/memories/{id}/ancestors", "get"> = {}) =>
    call("get", "/api/v1/memories/{id}/ancestors", { path: { id }, query }),
});

/** The log of recalls, and why one did not bring a memory. */
export const recallsOf = (call: Call) => ({
  /** Say why a recall does not bring a memory (an id, or a lineage's name): what dropped it, and what each arm made of it. */
  whyNot: (body: Fields<"/api/v1/recall/why-not", "post"> = {}) =>
    call("post", "/api/v1/recall/why-not", { body }),
  /** List logged recalls, newest first. */
  list: (query: Query<"/api/v1/recalls", "get"> = {}) =>
    call("get", "/api/v1/recalls", { query }),
  /** Show a logged recall: what it answered, by which arms, and what became of that. */
  get: (id: string) =>
    call("get", "/api/v1/recalls/{id}", { path: { id } }),
  /** Take a recall out of the log, question and all. */
  delete: (id: string) =>
    call("delete", "/api/v1/recalls/{id}", { path: { id } }),
  /** Measure which settings of a recall bring back best what answers these questions; a job does it. */
  tune: (body: Fields<"/api/v1/recall/tune", "post"> = {}) =>
    call("post", "/api/v1/recall/tune", { body }),
});

/** Entities and edges, merges, traversal. */
export const graphOf = (call: Call) => ({
  /** Create an entity, or add to the one that has this name or alias. */
  writeEntity: (body: Fields<"/api/v1/entities", "post"> = {}) =>
    call("post", "/api/v1/entities", { body }),
  /** List entities: pinned first, then the most mentioned. `query` is the start of a name. */
  listEntities: (query: Query<"/api/v1/entities", "get"> = {}) =>
    call("get", "/api/v1/entities", { query }),
  /** Find known entities in a text: whole words and phrases, names and aliases. */
  matchEntities: (body: Fields<"/api/v1/entities/match", "post"> = {}) =>
    call("post", "/api/v1/entities/match", { body }),
  /** Note that entities were referenced now. */
  touchEntities: (body: Fields<"/api/v1/entities/touch", "post"> = {}) =>
    call("post", "/api/v1/entities/touch", { body }),
  /** Find entities by name, by meaning, or by both; best first. */
  searchEntities: (body: Fields<"/api/v1/entities/search", "post"> = {}) =>
    call("post", "/api/v1/entities/search", { body }),
  /** An entity as of a moment, as known at another; its counters are present figures. */
  getEntity: (ref: string, query: Query<"/api/v1/entities/{ref}", "get"> = {}) =>
    call("get", "/api/v1/entities/{ref}", { path: { ref }, query }),
  /** Change name, type, aliases, description, metadata or confidence. */
  changeEntity: (ref: string, body: Fields<"/api/v1/entities/{ref}", "patch"> = {}) =>
    call("patch", "/api/v1/entities/{ref}", { path: { ref }, body }),
  /** Take an entity out of the graph, with its edges and attributes; history keeps it. Returns it as it was. */
  deleteEntity: (ref: string) =>
    call("delete", "/api/v1/entities/{ref}", { path: { ref } }),
  /** Pin an entity: always focal, sorted first, never removed by a sweep. */
  pinEntity: (ref: string) =>
    call("post", "/api/v1/entities/{ref}/pin", { path: { ref } }),
  /** Unpin an entity. */
  unpinEntity: (ref: string) =>
    call("post", "/api/v1/entities/{ref}/unpin", { path: { ref } }),
  /** All versions of a lineage, oldest first; where `ref` is an entity instead, what happened around it. */
  entityHistory: (ref: string, query: Query<"/api/v1/entities/{ref}/history", "get"> = {}) =>
    call("get", "/api/v1/entities/{ref}/history", { path: { ref }, query }),
  /** What is known of an entity at once: memories that mention it, facts, rules, edges, and its last events. */
  describeEntity: (ref: string, query: Query<"/api/v1/entities/{ref}/overview", "get"> = {}) =>
    call("get", "/api/v1/entities/{ref}/overview", { path: { ref }, query }),
  /** Merge entities whose names differ in spelling only. With `dry_run`, the default, say which would be. */
  mergeDuplicateEntities: (body: Fields<"/api/v1/entities/merge-duplicates", "post"> = {}) =>
    call("post", "/api/v1/entities/merge-duplicates", { body }),
  /** Make one entity of two: the other's names, edges, mentions and aspects go to this one. `merge_id` undoes it. */
  mergeEntities: (ref: string, body: Fields<"/api/v1/entities/{ref}/merge", "post"> = {}) =>
    call("post", "/api/v1/entities/{ref}/merge", { path: { ref }, body }),
  /** Make a new entity of a part of one: edges, mentions, aspects and aliases that are its own. `merge_id` undoes it. */
  splitEntity: (ref: string, body: Fields<"/api/v1/entities/{ref}/split", "post"> = {}) =>
    call("post", "/api/v1/entities/{ref}/split", { path: { ref }, body }),
  /** Merges and splits of the namespace, or of an entity, newest first; undone ones too. */
  listMerges: (query: Query<"/api/v1/merges", "get"> = {}) =>
    call("get", "/api/v1/merges", { query }),
  /** Undo a merge, or a split. What was written to the kept entity since stays with it, but for `edge_ids`. */
  undoMerge: (id: string, body: Fields<"/api/v1/merges/{id}/undo", "post"> = {}) =>
    call("post", "/api/v1/merges/{id}/undo", { path: { id }, body }),
  /** Observe an edge. Names are resolved or created; seen in a new conversation, it has full confidence again. */
  observeEdge: (body: Fields<"/api/v1/edges", "post"> = {}) =>
    call("post", "/api/v1/edges", { body }),
  /** Observe up to 10,000 edges, all or nothing. */
  observeEdges: (body: Fields<"/api/v1/edges/batch", "post"> = {}) =>
    call("post", "/api/v1/edges/batch", { body }),
  /** List edges with their effective confidence at `as_of`, as known at `known_at`; without faded ones, with, or only them. */
  listEdges: (query: Query<"/api/v1/edges", "get"> = {}) =>
    call("get", "/api/v1/edges", { query }),
  /** Show an edge at `as_of`, as known at `known_at`, with the spells in which it holds and what was observed of it. */
  getEdge: (id: string, query: Query<"/api/v1/edges/{id}", "get"> = {}) =>
    call("get", "/api/v1/edges/{id}", { path: { id }, query }),
  /** Correct confidence, strength or validity of an edge, as one operation. `valid_to=null`: it still holds. */
  changeEdge: (id: string, body: Fields<"/api/v1/edges/{id}", "patch"> = {}) =>
    call("patch", "/api/v1/edges/{id}", { path: { id }, body }),
  /** Take an edge back: no longer believed, kept as history. */
  deleteEdge: (id: string) =>
    call("delete", "/api/v1/edges/{id}", { path: { id } }),
  /** List types of edges with the rates in force and how many edges they have. */
  listEdgeTypes: (query: Query<"/api/v1/edge-types", "get"> = {}) =>
    call("get", "/api/v1/edge-types", { query }),
  /** Settings of an edge type. */
  getEdgeType: (type: string) =>
    call("get", "/api/v1/edge-types/{type}", { path: { type } }),
  /** Change settings of an edge type; says how many edges faded and how many came back. `decay_rate=null`: the namespace's. */
  setEdgeType: (type: string, body: Fields<"/api/v1/edge-types/{type}", "put"> = {}) =>
    call("put", "/api/v1/edge-types/{type}", { path: { type }, body }),
  /** Recalculate when edges of a type, or of all, fade; says how many are faded, and how many since the last time. */
  decayEdges: (body: Fields<"/api/v1/edges/decay", "post"> = {}) =>
    call("post", "/api/v1/edges/decay", { body }),
  /** Walk the graph breadth first from entities, or from those that a text names; every bound that cut it short is named. */
  traverse: (start: string[], fields: Omit<Fields<"/api/v1/graph/traverse", "post">, "start"> = {}) =>
    call("post", "/api/v1/graph/traverse", { body: { ...fields, start } }),
  /** Show the graph around the entities that a message names, as data and as lines that go before an inference. */
  context: (body: Fields<"/api/v1/graph/context", "post"> = {}) =>
    call("post", "/api/v1/graph/context", { body }),
  /** Show the entities that stand out, with their aspects, and the living edges between them. */
  constellation: (query: Query<"/api/v1/knowledge/constellation", "get"> = {}) =>
    call("get", "/api/v1/knowledge/constellation", { query }),
});

/** Aspects, attributes and constraints; supersession; the walk. */
export const factsOf = (call: Call) => ({
  /** Collect what to know about the entities that a conversation is about, and their neighbours, within a deadline. */
  walk: (body: Fields<"/api/v1/graph/walk", "post"> = {}) =>
    call("post", "/api/v1/graph/walk", { body }),
  /** Aspects of an entity, heaviest first, with the attributes and constraints that held at `as_of`. */
  listAspects: (ref: string, query: Query<"/api/v1/entities/{ref}/aspects", "get"> = {}) =>
    call("get", "/api/v1/entities/{ref}/aspects", { path: { ref }, query }),
  /** Give an entity an aspect, or change the one it has by this name. */
  writeAspect: (ref: string, body: Fields<"/api/v1/entities/{ref}/aspects", "post"> = {}) =>
    call("post", "/api/v1/entities/{ref}/aspects", { path: { ref }, body }),
  /** Put a fact, or a constraint, under an aspect; facts that it contradicts are superseded, or proposed to be. */
  writeAttribute: (id: string, body: Fields<"/api/v1/aspects/{id}/attributes", "post"> = {}) =>
    call("post", "/api/v1/aspects/{id}/attributes", { path: { id }, body }),
  /** Change an attribute. New content is a new attribute, which is returned; the old one is superseded and stays. */
  changeAttribute: (id: string, body: Fields<"/api/v1/attributes/{id}", "patch"> = {}) =>
    call("patch", "/api/v1/attributes/{id}", { path: { id }, body }),
  /** List decisions that a fact made a sibling obsolete, newest first, with the words that gave the signal. */
  listSupersessions: (query: Query<"/api/v1/supersessions", "get"> = {}) =>
    call("get", "/api/v1/supersessions", { query }),
  /** Look for contradictions among facts that stand already, `limit` of them a call; go on with `next_cursor`. */
  sweepSupersessions: (body: Fields<"/api/v1/supersessions", "post"> = {}) =>
    call("post", "/api/v1/supersessions", { body }),
  /** Accept a proposed, dismissed or undone decision: the older attribute is superseded. */
  acceptSupersession: (id: string) =>
    call("post", "/api/v1/supersessions/{id}/accept", { path: { id } }),
  /** Take an applied decision back: the older attribute is what it was. */
  undoSupersession: (id: string) =>
    call("post", "/api/v1/supersessions/{id}/undo", { path: { id } }),
  /** Say no to a proposed decision: nothing moves, and no sweep proposes the pair again. */
  dismissSupersession: (id: string) =>
    call("post", "/api/v1/supersessions/{id}/dismiss", { path: { id } }),
});

/** Working memory, conversations, and the ends of sessions. */
export const sessionsOf = (call: Call) => ({
  /** Say what a session was shown and has used since, of what use a recall was, and what was said about the agent's work. */
  noteFeedback: (body: Fields<"/api/v1/feedback", "post"> = {}) =>
    call("post", "/api/v1/feedback", { body }),
  /** List what ended sessions have changed in the weights of aspects, newest first. */
  listFeedback: (query: Query<"/api/v1/feedback", "get"> = {}) =>
    call("get", "/api/v1/feedback", { query }),
  /** End a session: what it was shown and found again confirms aspects. Ending it twice changes nothing more. */
  end: (session: string) =>
    call("post", "/api/v1/sessions/{session}/end", { path: { session } }),
  /** Write an entry of working memory, or replace it; its time to live begins anew. */
  saveEntry: (key: string, body: Fields<"/api/v1/working-memory/{key}", "put"> = {}) =>
    call("put", "/api/v1/working-memory/{key}", { path: { key }, body }),
  /** Get an entry, from any space. What has expired is not there. */
  getEntry: (key: string) =>
    call("get", "/api/v1/working-memory/{key}", { path: { key } }),
  /** Delete an entry of your own. */
  deleteEntry: (key: string) =>
    call("delete", "/api/v1/working-memory/{key}", { path: { key } }),
  /** List entries in order of their keys, without values. */
  listEntries: (query: Query<"/api/v1/working-memory", "get"> = {}) =>
    call("get", "/api/v1/working-memory", { query }),
  /** Find entries by words, category and tags, best first; without words the newest first. */
  searchEntries: (body: Fields<"/api/v1/working-memory/search", "post"> = {}) =>
    call("post", "/api/v1/working-memory/search", { body }),
  /** List sessions that have turns, in order of their names. */
  listConversations: (query: Query<"/api/v1/conversations", "get"> = {}) =>
    call("get", "/api/v1/conversations", { query }),
  /** Append a turn to a conversation. */
  addTurn: (session: string, body: Fields<"/api/v1/conversations/{session}/turns", "post"> = {}) =>
    call("post", "/api/v1/conversations/{session}/turns", { path: { session }, body }),
  /** Append up to 1,000 turns to a conversation, all or none. */
  addTurns: (session: string, turns: NonNullable<Fields<"/api/v1/conversations/{session}/turns", "post">["turns"]>, fields: Omit<Fields<"/api/v1/conversations/{session}/turns", "post">, "turns"> = {}) =>
    call("post", "/api/v1/conversations/{session}/turns", { path: { session }, body: { ...fields, turns } }),
  /** The last turns of a conversation, oldest first; `next_cursor` leads to those before them. */
  listTurns: (session: string, query: Query<"/api/v1/conversations/{session}/turns", "get"> = {}) =>
    call("get", "/api/v1/conversations/{session}/turns", { path: { session }, query }),
  /** Delete the turns of a session, those that wait for later passes included. */
  deleteTurns: (session: string) =>
    call("delete", "/api/v1/conversations/{session}/turns", { path: { session } }),
  /** Take the last turn of a session away: it is returned. Raises NotFound where there is none. */
  popTurn: (session: string) =>
    call("delete", "/api/v1/conversations/{session}/turns/last", { path: { session } }),
});

/** What changed, who changed it, and undo. */
export const operationsOf = (call: Call) => ({
  /** List what changed the namespace, newest first. `subject`: what changed this memory, entity or edge. */
  list: (query: Query<"/api/v1/operations", "get"> = {}) =>
    call("get", "/api/v1/operations", { query }),
  /** An operation, with counts of its changes. */
  get: (id: string) =>
    call("get", "/api/v1/operations/{id}", { path: { id } }),
  /** What an operation changed, before and after, in order. */
  listChanges: (id: string, query: Query<"/api/v1/operations/{id}/changes", "get"> = {}) =>
    call("get", "/api/v1/operations/{id}/changes", { path: { id }, query }),
  /** Undo an operation: all that it changed is as before. `skip_changed` leaves alone what was changed again since. */
  undo: (id: string, body: Fields<"/api/v1/operations/{id}/undo", "post"> = {}) =>
    call("post", "/api/v1/operations/{id}/undo", { path: { id }, body }),
  /** List changes after a cursor, oldest first; go on after `next_cursor`, which is always said. `wait` seconds for one. */
  feed: (query: Query<"/api/v1/changes", "get"> = {}) =>
    call("get", "/api/v1/changes", { query }),
});

/** Passes that use a language model, and the signals that they learn from. */
export const dreamsOf = (call: Call) => ({
  /** List what was said about the agent's work, newest first. */
  listSignals: (query: Query<"/api/v1/feedback/signals", "get"> = {}) =>
    call("get", "/api/v1/feedback/signals", { query }),
  /** Ask for a dream; a job does it. `passes`: these alone, also if the namespace has switched them off. */
  start: (body: Fields<"/api/v1/dream", "post"> = {}) =>
    call("post", "/api/v1/dream", { body }),
  /** Reports of passes, newest first. */
  listPasses: (query: Query<"/api/v1/passes", "get"> = {}) =>
    call("get", "/api/v1/passes", { query }),
});

/** Work that is done later. */
export const jobsOf = (call: Call) => ({
  /** Jobs, newest first, by state and kind. */
  list: (query: Query<"/api/v1/jobs", "get"> = {}) =>
    call("get", "/api/v1/jobs", { query }),
  /** A job: how it stands, what its passes did, and what its calls of a language model took. */
  get: (id: string) =>
    call("get", "/api/v1/jobs/{id}", { path: { id } }),
  /** Try a job again that is dead, cancelled or skipped; one that waits runs now. */
  retry: (id: string) =>
    call("post", "/api/v1/jobs/{id}/retry", { path: { id } }),
  /** Cancel a job. One that runs is told to stop: its state is running until it has. */
  cancel: (id: string) =>
    call("post", "/api/v1/jobs/{id}/cancel", { path: { id } }),
});

/** Namespaces and their settings. */
export const namespacesOf = (call: Call) => ({
  /** Create a namespace. Only the operator may. */
  create: (name: NonNullable<Fields<"/api/v1/namespaces", "post">["name"]>, fields: Omit<Fields<"/api/v1/namespaces", "post">, "name"> = {}) =>
    call("post", "/api/v1/namespaces", { body: { ...fields, name } }),
  /** Namespaces that the caller may read, by name, with counts. */
  list: (query: Query<"/api/v1/namespaces", "get"> = {}) =>
    call("get", "/api/v1/namespaces", { query }),
  /** A namespace: settings in force, and how much it holds. */
  get: (name: string) =>
    call("get", "/api/v1/namespaces/{name}", { path: { name } }),
  /** Memories written in each week, and how many there were at its end; oldest week first. */
  growth: (name: string, query: Query<"/api/v1/namespaces/{name}/growth", "get"> = {}) =>
    call("get", "/api/v1/namespaces/{name}/growth", { path: { name }, query }),
  /** Change description or settings; a setting of null goes back to its default. Admin. */
  change: (name: string, body: Fields<"/api/v1/namespaces/{name}", "patch"> = {}) =>
    call("patch", "/api/v1/namespaces/{name}", { path: { name }, body }),
  /** Delete a namespace and everything in it. Admin. */
  delete: (name: string) =>
    call("delete", "/api/v1/namespaces/{name}", { path: { name } }),
});

/** API keys, grants, invitations, and who the caller is. */
export const accessOf = (call: Call) => ({
  /** Who the caller is: the agent's id, which a grant names; its home; the key; and its roles, by namespace. */
  whoami: () =>
    call("get", "/api/v1/agents/me"),
  /** Agents that have a role in the namespace, or are invited; those whose grant has expired included. Admin. */
  listGrants: (query: Query<"/api/v1/grants", "get"> = {}) =>
    call("get", "/api/v1/grants", { query }),
  /** Give an agent a role in the namespace, until a moment or for good, in force at its next request. Admin. */
  setGrant: (agent_id: string, body: Fields<"/api/v1/grants/{agent_id}", "put"> = {}) =>
    call("put", "/api/v1/grants/{agent_id}", { path: { agent_id }, body }),
  /** Take an agent's role in the namespace away, at its next request, or an invitation back. Returns what it was. Admin. */
  deleteGrant: (agent_id: string) =>
    call("delete", "/api/v1/grants/{agent_id}", { path: { agent_id } }),
  /** Namespaces that invite the caller, by name, with the role that it would have. `agent`: the operator's. */
  listInvitations: (query: Query<"/api/v1/agents/me/invitations", "get"> = {}) =>
    call("get", "/api/v1/agents/me/invitations", { query }),
  /** Accept the invitation of a namespace: all keys of the agent reach it from now on. Again, it says the same. */
  acceptInvitation: (name: string, query: Query<"/api/v1/agents/me/invitations/{name}/accept", "post"> = {}) =>
    call("post", "/api/v1/agents/me/invitations/{name}/accept", { path: { name }, query }),
  /** Decline the invitation of a namespace. */
  declineInvitation: (name: string, query: Query<"/api/v1/agents/me/invitations/{name}", "delete"> = {}) =>
    call("delete", "/api/v1/agents/me/invitations/{name}", { path: { name }, query }),
  /** Leave a namespace: no key of the agent reaches it any more. */
  leaveNamespace: (name: string, query: Query<"/api/v1/agents/me/grants/{name}", "delete"> = {}) =>
    call("delete", "/api/v1/agents/me/grants/{name}", { path: { name }, query }),
  /** Make a key for the namespace. The reply is the only place that ever shows it. Admin. */
  createKey: (body: Fields<"/api/v1/keys", "post"> = {}) =>
    call("post", "/api/v1/keys", { body }),
  /** Keys of the agents that are at home in the namespace, newest first. Admin. */
  listKeys: (query: Query<"/api/v1/keys", "get"> = {}) =>
    call("get", "/api/v1/keys", { query }),
  /** Change a key; null takes its end or its rate limit away. Admin of the agent's home. */
  changeKey: (id: string, body: Fields<"/api/v1/keys/{id}", "patch"> = {}) =>
    call("patch", "/api/v1/keys/{id}", { path: { id }, body }),
  /** Put a new key in the place of one, which ends after the grace (0: at once). Admin of the agent's home. */
  rotateKey: (id: string, body: Fields<"/api/v1/keys/{id}/rotate", "post"> = {}) =>
    call("post", "/api/v1/keys/{id}/rotate", { path: { id }, body }),
  /** End a key at once. Admin of the agent's home. */
  revokeKey: (id: string) =>
    call("delete", "/api/v1/keys/{id}", { path: { id } }),
  /** What a key was used for: requests by namespace, hour, address and outcome, newest first. Admin of the agent's home. */
  listKeyUsage: (id: string, query: Query<"/api/v1/keys/{id}/uses", "get"> = {}) =>
    call("get", "/api/v1/keys/{id}/uses", { path: { id }, query }),
  /** Requests with keys that are not valid, by hour and address, newest first. Only on loopback without keys. */
  listRefusedRequests: (query: Query<"/api/v1/keys/refusals", "get"> = {}) =>
    call("get", "/api/v1/keys/refusals", { query }),
});

/** Embedding models, calls of language models, and their budget. */
export const modelsOf = (call: Call) => ({
  /** Embedding models: the active one, one that is being filled behind it, and those of before. */
  list: () =>
    call("get", "/api/v1/embeddings/models"),
  /** Lay the map out anew by UMAP, as a job, whose result says how far it is; `project_memories` then brings it. */
  makeProjection: (body: Fields<"/api/v1/embeddings/projection", "post"> = {}) =>
    call("post", "/api/v1/embeddings/projection", { body }),
  /** List calls of the language model, newest first: what for, tokens, cost and time. Of one purpose, or of one job. */
  listCalls: (query: Query<"/api/v1/model-calls", "get"> = {}) =>
    call("get", "/api/v1/model-calls", { query }),
  /** What calls of the language model have used on a day (UTC; default: today), and what is left of its budget. */
  usage: (query: Query<"/api/v1/model-usage", "get"> = {}) =>
    call("get", "/api/v1/model-usage", { query }),
});

/** Whether the service answers and can serve. */
export const serverOf = (call: Call) => ({
  /** The process answers. */
  health: () =>
    call("get", "/healthz"),
  /** Whether the service can serve, and why not; an unready one raises nothing. */
  readiness: () =>
    call("get", "/readyz"),
});
