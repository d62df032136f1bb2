/** What stands in the address of a question, as the service is asked it. */
import type { Schemas } from "../api/client";
import type { Params, Times } from "../state";

export const ARMS = ["lexical", "vector", "graph", "hierarchy", "walk"] as const;
export const MORE_ARMS = ["working_memory", "conversation"] as const;
export const SIZES = [5, 10, 20, 50, 100];
export type Body = Partial<Schemas["RecallInput"]>;

/** Another side of a question: what of it differs. Null: as it is. */
export interface Side {
  as_of: string | null;
  known_at: string | null;
  arms: string | null;
  weights: string | null;
  fusion: string | null;
}
const NAMES = ["as_of", "known_at", "arms", "weights", "fusion"] as const;
const FUSIONS = ["linear", "rrf", "relative_score"];

/** The other side that an address names, if it names one. */
export function sideOf(params: URLSearchParams): Side | null {
  if (!params.get("b")) return null;
  return Object.fromEntries(NAMES.map((name) => [name, params.get(`b_${name}`)])) as unknown as Side;
}

export function weightsOf(text: string | null): Record<string, number> {
  const found: Record<string, number> = {};
  for (const part of text?.split(",") ?? []) {
    const [name, value] = part.split(":");
    if (name && value && Number(value) >= 0) found[name] = Number(value);
  }
  return found;
}

const moment = (text: string | null): string | null => (text && !Number.isNaN(Date.parse(text)) ? text : null);

/** The recall that an address asks for; null where it has no question. */
export function bodyOf(params: URLSearchParams, at: Times, side: Side | null = null): Body | null {
  const query = params.get("q")?.trim();
  if (!query) return null;
  const known: readonly string[] = [...ARMS, ...MORE_ARMS];
  const arms = (side?.arms ?? params.get("arms"))?.split(",").filter((each) => known.includes(each)) as Body["arms"];
  const weights = weightsOf(side?.weights ?? params.get("weights"));
  const fusion = side?.fusion ?? params.get("fusion");
  const filters = filtersOf(params);
  const user = params.get("user")?.trim();
  return {
    query,
    k: Math.min(100, Math.max(1, Math.trunc(Number(params.get("k"))) || 10)),
    explain: true,
    ...(user ? { user } : {}),
    as_of: moment(side?.as_of ?? null) ?? at.as_of,
    known_at: moment(side?.known_at ?? null) ?? at.known_at,
    ...(arms?.length ? { arms } : {}),
    ...(Object.keys(filters).length ? { filters: filters as Schemas["Filters"] } : {}),
    ...(Object.keys(weights).length ? { weights: weights as Schemas["Weights"] } : {}),
    ...(fusion && FUSIONS.includes(fusion) ? { fusion: fusion as Body["fusion"] } : {}),
  };
}

/** Filters that are chosen by a click, and those that a line of the log had besides. */
function filtersOf(params: URLSearchParams): Record<string, unknown> {
  let filters: Record<string, unknown> = {};
  try {
    const stated: unknown = JSON.parse(params.get("filters") ?? "{}");
    if (stated && typeof stated === "object" && !Array.isArray(stated)) filters = { ...stated };
  } catch {
    filters = {}; // an address that somebody wrote by hand
  }
  for (const name of ["category", "entity"]) if (params.get(name)) filters[name] = params.get(name);
  if (params.get("tag")) filters.tags = [params.get("tag")];
  if (params.get("session")) filters.session_id = params.get("session");
  if (params.get("layer")) filters.layers = [Number(params.get("layer"))];
  return filters;
}

/** The address that asks a line of the recall log again, as it was then. */
export function logged(of: Schemas["ListedRecall"]): Params {
  const { category, entity, ...others } = of.filters as Record<string, string>;
  return {
    q: of.query,
    k: of.k === 10 ? null : of.k,
    arms: of.arms.join() === ARMS.join() ? null : of.arms.join(","),
    fusion: of.fusion,
    category,
    entity,
    filters: Object.keys(others).length ? JSON.stringify(others) : null,
    as_of: of.as_of ?? of.at,
    known_at: of.known_at ?? of.at,
    log: of.id,
  };
}
