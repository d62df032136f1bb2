/** How a pass ended. */
import type { Schemas } from "../api/client";

const SAID: Record<Schemas["PassOut"]["outcome"], string> = {
  applied: "applied",
  unchanged: "nothing new",
  planned: "dry run",
  stopped: "stopped: too much would have gone",
  failed: "failed",
};
export const Outcome = ({ of }: { of: Schemas["PassOut"]["outcome"] }) => <span class={`badge state-${of}`}>{SAID[of]}</span>;
