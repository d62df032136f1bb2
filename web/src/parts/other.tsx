/** A link to another memory, by what it says. */
import { call } from "../api/client";
import { useSession } from "../session";
import { href, useLoad } from "../state";
import { Text } from "./text";

const MOST = 200;

export function Other({ id }: { id: string }) {
  const { namespace } = useSession();
  const found = useLoad(`other ${namespace} ${id}`, (signal) => call("get", "/api/v1/memories/{id}/history", { path: { id }, query: { limit: MOST }, namespace, signal }));
  const shown = found.data?.items.at(-1);
  return <a href={href("memory", { id })}>{shown ? <Text of={shown.content} cut={100} /> : "a memory"}</a>;
}
