/** Who looks: the agent of the key, its namespaces and roles. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Schemas } from "./api/client";

export interface Session {
  me: Schemas["Me"];
  namespace: string;
  role: Schemas["NamespaceOut"]["role"];
  about: Schemas["NamespaceOut"] | undefined;
  reload: () => void;
}
export const SessionContext = createContext<Session | null>(null);
export const useSession = (): Session => useContext(SessionContext)!;
export const mayWrite = (session: Session): boolean => session.role !== "reader";
