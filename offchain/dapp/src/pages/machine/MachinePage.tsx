import { useParams } from "react-router";
import { useLive } from "../../api/live";
import type { MachineWhole } from "../../api/machines";
import { useMachine, usePool, useQuote } from "../../api/queries";
import { Page } from "../../app/Page";
import { prompt } from "../../format";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { State } from "../../ui/State";
import { useLate } from "../../ui/useLate";
import { MachineState } from "../market/columns";
import { nameOf } from "../market/words";
import { MachineFacts } from "./MachineFacts";
import { Outages } from "./Outages";
import { PastPrices } from "./PastPrices";
import { firstWish, QuotePanel } from "./QuotePanel";
import { Ratings } from "./Ratings";
import { Record } from "./Record";
import { useAgentAnswers } from "./SilentAgent";
import "./machine.css";

const LONGEST = 1_000;
const NOTHING = { cells: 0, seconds: 0, spot: false };

/** One machine whole: what a share of it costs, what it is, what it asks, and how it has done. */
export default function MachinePage() {
  const { machine: number = "" } = useParams();
  useLive(["machines"]);
  const { data, error, refetch } = useMachine(number);
  const machine = useWhole(data);
  return (
    <Page
      title={machine === undefined ? `Machine ${number}` : `${nameOf(machine)}, machine ${machine.id}`}
      command={prompt`leasehold machine ${number}`}
      beside={machine !== undefined && <Standing machine={machine} />}
    >
      {machine !== undefined ? (
        <Shown machine={machine} />
      ) : error !== null ? (
        <ProblemView error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton rows={12} />
      )}
    </Page>
  );
}

/** The machine once its price is there too, or is late: what is shown before would be pushed down by it. */
function useWhole(machine: MachineWhole | undefined): MachineWhole | undefined {
  const quote = useQuote(machine?.id ?? 0, machine === undefined ? NOTHING : firstWish(machine));
  const token = usePool();
  const comes = machine !== undefined && (quote.isPending || token.isPending);
  const late = useLate(comes, LONGEST);
  return comes && !late ? undefined : machine;
}

function Standing({ machine }: { machine: MachineWhole }) {
  const { answers, asking } = useAgentAnswers(machine.id);
  return (
    <span className="machine-standing">
      {answers !== undefined ? (
        <State is={answers ? "good" : "warning"}>{answers ? "Agent answers" : "Agent does not answer"}</State>
      ) : (
        <State is={asking ? "waiting" : "plain"}>{asking ? "Its agent is asked" : "Agent not heard"}</State>
      )}
      <MachineState machine={machine} />
    </span>
  );
}

function Shown({ machine }: { machine: MachineWhole }) {
  const token = usePool().data?.token;
  return (
    <div className="machine-page">
      <div className="rows">
        <QuotePanel machine={machine} token={token} />
        <PastPrices machine={machine} token={token} />
      </div>
      <div className="rows">
        <MachineFacts machine={machine} token={token} />
        <Record machine={machine} token={token} />
        <Ratings ratings={machine.rated} token={token} />
        <Outages faults={machine.faults} token={token} />
      </div>
    </div>
  );
}
