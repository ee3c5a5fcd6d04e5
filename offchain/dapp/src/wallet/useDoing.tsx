import { useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import type { PublicClient } from "viem";
import { type Fate, fateOf, type GaslessStage, problemOf } from "../chain";
import { Address } from "../ui/Address";
import { ProblemView } from "../ui/ProblemView";
import { type Meaning, State } from "../ui/State";
import "./doing.css";

/** A step that is being done, in words; `stage` where it is a transaction. */
export interface Step {
  readonly words: string;
  readonly stage: GaslessStage | null;
}

/** What a button has set going: its steps so far, the last of which is the present one. */
export interface Doing {
  readonly steps: readonly Step[];
  readonly problem: Error | null;
  readonly busy: boolean;
}

export type Tell = (words: string, stage?: GaslessStage) => void;

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
      <ol className="doing-steps">
        {doing.steps.map((step, place) => (
          <li key={step.words} className="line apart">
            <span>{step.words}</span>
            {step.stage?.kind === "fee" ? (
              <FeeQuestion {...step.stage} />
            ) : step.stage ? (
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

type Told = Exclude<GaslessStage, { kind: "fee" }>;
const STAGES: Readonly<Record<Told["kind"], readonly [Meaning, string]>> = {
  handed: ["waiting", "Signed: the gateway has it, and sends it"],
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

/** Asks before the wallet opens: the account has no coin for gas, and a gateway would send it for so much. */
function FeeQuestion({ amount, payee, agree }: Extract<GaslessStage, { kind: "fee" }>) {
  return (
    <fieldset className="rows">
      <legend>Your account has no coin for the network fee.</legend>
      <p className="small">
        This gateway pays it for you and takes {amount} out of your ledger, into the ledger of{" "}
        <Address address={payee} />. You sign once, no transaction: the fee and what you want done happen together, or
        not at all. All of it is paid from your ledger.
      </p>
      <div className="line">
        <button type="button" className="button primary" onClick={() => agree(true)}>
          Pay the network fee of {amount} and sign
        </button>
        <button type="button" className="button" onClick={() => agree(false)}>
          Send it with my wallet instead
        </button>
      </div>
    </fieldset>
  );
}

function StageView({ stage, chain }: { stage: Told; chain: PublicClient }) {
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
