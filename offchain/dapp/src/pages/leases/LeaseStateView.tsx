import { type Meaning, State } from "../../ui/State";

const SAID: Readonly<Record<string, readonly [Meaning, string]>> = {
  opened: ["waiting", "Opened, not started yet"],
  active: ["good", "Running"],
  ended: ["plain", "Ended"],
  cancelled: ["warning", "Cancelled: never started"],
  rejected: ["plain", "Given back"],
};

/** A lease's state on the chain, as people say it. */
export function LeaseStateView({ state }: { state: string }) {
  const [meaning, words] = SAID[state] ?? (["plain", state] as const);
  return <State is={meaning}>{words}</State>;
}
