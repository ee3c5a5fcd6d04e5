import { useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import type { PublicClient } from "viem";
import { type Fate, fateOf, problemOf, type Stage } from "../chain";
import { ProblemView } from "../ui/ProblemView";
import { type Meaning, State } from "../ui/State";

/** A step that is being done, in words; `stage` where it is a transaction. */
export interface Step {
  readonly words: string;
  readonly stage: Stage | null;
}

/** What a button has set going: its steps so far, the last of which is the present one. */
export interface Doing {
  readonly steps: readonly Step[];
  readonly problem: Error | null;
  readonly busy: boolean;
}

export type Tell = (words: string, stage?: Stage) => void;

const NOTHING: Doing = { steps: [], problem: null, busy: false };

/** Runs one thing at a time, and keeps what it tells. `doing`: the end of “You said no to …”. */
export function useDoing() {
  const [doing, setDoing] = useState<Doing>(NOTHING);
  const run = useCallback(async (what: string, act: (tell: Tell) => Promise<void>) => {
    setDoing({ ...NOTHING, busy: true });
    const tell: Tell = (words, stage) =>
      setDoing((now) => {
        const before = now.steps.at(-1)?.words === words ? now.steps.slice(0, -1) : now.steps;
        return { ...now, steps: [...before, { words, stage: stage ?? null }] };
      });
    try {
      await act(tell);
      setDoing((now) => ({ ...now, busy: false }));
    } catch (error) {
      const problem = problemOf(error, what);
      setDoing((now) => ({ ...now, problem, busy: false }));
    }
  }, []);
  return { doing, run };
}

/** The steps as they go, and why it ended where it did not go well. */
export function DoingView({ doing, chain }: { doing: Doing; chain: PublicClient }) {
  if (doing.steps.length === 0 && doing.problem === null) return null;
  const last = doing.steps.length - 1;
  return (
    <div className="rows" aria-live="polite">
      <ol className="steps">
        {doing.steps.map((step, place) => (
          <li key={step.words} className="line apart">
            <span>{step.words}</span>
            {step.stage ? (
              <StageView stage={step.stage} chain={chain} />
            ) : (
              <State is={place < last || !doing.busy ? "good" : "waiting"}>
                {place < last || !doing.busy ? "Done" : "Doing"}
              </State>
            )}
          </li>
        ))}
      </ol>
      {doing.problem !== null && <ProblemView error={doing.problem} />}
    </div>
  );
}

const STAGES: Readonly<Record<Stage["kind"], readonly [Meaning, string]>> = {
  signing: ["waiting", "Sign it in your wallet"],
  pending: ["waiting", "Pending: sent, in no block yet"],
  mined: ["good", "Mined: a reorganisation could still undo it"],
  final: ["good", "Final"],
};
/** Of what was mined once. */
const FATES: Readonly<Record<Fate["kind"], readonly [Meaning, string]>> = {
  mined: STAGES.mined,
  final: STAGES.final,
  refused: ["bad", "Mined again after a reorganisation, and refused: nothing moved but the gas"],
  waiting: ["warning", "Undone by a reorganisation: it waits to be mined again"],
  gone: ["warning", "Undone by a reorganisation: the node no longer knows it"],
};
const LOOK_AGAIN = 4_000;

function StageView({ stage, chain }: { stage: Stage; chain: PublicClient }) {
  const mined = stage.kind === "mined" || stage.kind === "final";
  const hash = mined ? stage.receipt.transactionHash : null;
  const now = useQuery({
    queryKey: ["onchain", "fate", hash],
    queryFn: () => (hash === null ? null : fateOf(chain, hash)),
    enabled: hash !== null,
    refetchInterval: (query) => (query.state.data?.kind === "final" ? false : LOOK_AGAIN),
  });
  const [meaning, words] = now.data ? FATES[now.data.kind] : STAGES[stage.kind];
  return <State is={meaning}>{words}</State>;
}
