import { capitalised, inWords } from "../../format";
import { type Meaning, State } from "../../ui/State";

const MEANINGS: Readonly<Record<string, Meaning>> = {
  requested: "waiting",
  drawn: "waiting",
  passed: "good",
  failed: "bad",
  inconclusive: "warning",
};

/** What has come of a committee's round. */
export function RoundState({ state }: { state: string }) {
  return <State is={MEANINGS[state] ?? "plain"}>{capitalised(inWords(state))}</State>;
}
