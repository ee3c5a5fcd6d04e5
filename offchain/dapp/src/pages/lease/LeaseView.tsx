import { lazy, type ReactNode, Suspense } from "react";
import { useSearchParams } from "react-router";
import { isAddressEqual } from "viem";
import type { AgentClient } from "../../agent";
import { isAlone } from "../../api/gateway";
import { PageBoundary } from "../../app/PageBoundary";
import { LeaseState } from "../../chain";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Stations } from "../../ui/Stations";
import { type Account, DoingView, useDoing } from "../../wallet";
import { Logs } from "./Logs";
import { MoneyPart } from "./MoneyPart";
import { OfGroup } from "./OfGroup";
import { Overview } from "./Overview";
import { standing } from "./standing";
import { useAgent, useStatus } from "./useAgent";
import type { LeaseNow } from "./useLeaseOnChain";

const TerminalPart = lazy(() => import("./TerminalPart"));
const FilesPart = lazy(() => import("./FilesPart"));
const Metrics = lazy(() => import("./Metrics"));
const ResultsPart = lazy(() => import("./ResultsPart"));

const PARTS = {
  overview: "Overview",
  logs: "Logs",
  terminal: "Terminal",
  files: "Files",
  metrics: "Metrics",
  results: "Results",
  money: "Money",
} as const;
type Part = keyof typeof PARTS;

/** The lease's stations, and one of its parts beneath. */
export function LeaseView({ account, now }: { account: Account; now: LeaseNow }) {
  const { lease } = now;
  if (isAddressEqual(lease.tenant, account.sender.account)) return <OwnLease account={account} now={now} />;
  return (
    <OfGroup account={account} lease={lease}>
      {(agent, said) => (
        <Shown account={account} now={now} mine={false} agent={agent}>
          {said}
        </Shown>
      )}
    </OfGroup>
  );
}

function OwnLease({ account, now }: { account: Account; now: LeaseNow }) {
  const { agent, allow } = useAgent(account, now.lease.machine);
  const { doing, run } = useDoing();
  return (
    <Shown account={account} now={now} mine={true} agent={agent}>
      {isAlone() && (
        <p className="notice">
          No gateway is asked: this page reads the chain by your wallet. Status, logs and terminal come by way of a
          gateway, or at the prompt.
        </p>
      )}
      {!agent && !isAlone() && (
        <section className="notice">
          <h2>The machine does not know this tab yet.</h2>
          <p>Your wallet signs once for a day; it moves no money. Then status, logs and terminal are shown here.</p>
          <button
            type="button"
            className="button"
            disabled={doing.busy}
            onClick={() => void run("this signature", allow)}
          >
            Let this tab talk to the machine
          </button>
          <DoingView doing={doing} chain={account.chain} />
        </section>
      )}
    </Shown>
  );
}

interface ShownProps {
  readonly account: Account;
  readonly now: LeaseNow;
  readonly mine: boolean;
  /** Where this tab may ask it. */
  readonly agent: AgentClient | null;
  readonly children: ReactNode;
}

function Shown({ account, now, mine, agent, children }: ShownProps) {
  const { lease } = now;
  const [search, setSearch] = useSearchParams();
  const part = (search.get("part") ?? "overview") as Part;
  const live = lease.state === LeaseState.opened || lease.state === LeaseState.active;
  const status = useStatus(agent, lease.id, live);
  // What the machine said before it fell silent is no word on how things stand.
  const stations = standing(lease, now.params, status.error ? undefined : status.data);
  return (
    <>
      <Stations {...stations} />
      {children}
      {live && status.error && <ProblemView error={status.error} onRetry={() => void status.refetch()} />}
      <nav className="line" aria-label="Parts of the lease">
        {Object.entries(PARTS).map(([name, title]) => (
          <button
            key={name}
            type="button"
            className="chip"
            aria-pressed={name === part}
            onClick={() => setSearch({ part: name }, { replace: true })}
          >
            {title}
          </button>
        ))}
      </nav>
      <PageBoundary key={part} part>
        <Suspense fallback={<Skeleton rows={6} />}>
          {part === "overview" && <Overview account={account} now={now} status={status.data} />}
          {part === "logs" && agent && <Logs agent={agent} lease={lease.id} live={live} />}
          {part === "terminal" && agent && <TerminalPart agent={agent} lease={lease.id} />}
          {part === "files" && agent && <FilesPart agent={agent} lease={lease.id} />}
          {part === "metrics" && agent && <Metrics agent={agent} lease={lease.id} />}
          {part === "results" && mine && <ResultsPart account={account} now={now} />}
        </Suspense>
      </PageBoundary>
      {(part === "money" || part === "overview") && <MoneyPart account={account} now={now} mine={mine} />}
    </>
  );
}
