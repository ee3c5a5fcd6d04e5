import { lazy, Suspense } from "react";
import { Link, useSearchParams } from "react-router";
import { isAddressEqual } from "viem";
import { isAlone } from "../../api/gateway";
import { LeaseState } from "../../chain";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Stations } from "../../ui/Stations";
import { type Account, DoingView, useDoing } from "../../wallet";
import { Logs } from "./Logs";
import { MoneyPart } from "./MoneyPart";
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
  const [search, setSearch] = useSearchParams();
  const part = (search.get("part") ?? "overview") as Part;
  const mine = isAddressEqual(lease.tenant, account.sender.account);
  const live = lease.state === LeaseState.opened || lease.state === LeaseState.active;
  const { agent, allow } = useAgent(account, lease.machine);
  const status = useStatus(mine ? agent : null, lease.id, live);
  const { doing, run } = useDoing();
  // What the machine said before it fell silent is no word on how things stand.
  const stations = standing(lease, now.params, status.error ? undefined : status.data);
  return (
    <>
      <Stations {...stations} />
      {mine && isAlone() && (
        <p className="notice">
          No gateway is asked: this page reads the chain by your wallet. Status, logs and terminal come by way of a
          gateway, or at the prompt.
        </p>
      )}
      {mine && !agent && !isAlone() && (
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
      {!mine && (
        <p className="notice">
          <span>
            This lease is another account's: what runs in it is shown to its tenant alone. Is it a group's for which you
            sign? <Link to={`/groups/${lease.tenant}`}>Its page</Link> closes and extends it.
          </span>
        </p>
      )}
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
      <Suspense fallback={<Skeleton rows={6} />}>
        {part === "overview" && <Overview account={account} now={now} status={status.data} />}
        {part === "logs" && agent && mine && <Logs agent={agent} lease={lease.id} live={live} />}
        {part === "terminal" && agent && mine && <TerminalPart agent={agent} lease={lease.id} />}
        {part === "files" && agent && mine && <FilesPart agent={agent} lease={lease.id} />}
        {part === "metrics" && agent && mine && <Metrics agent={agent} lease={lease.id} />}
        {part === "results" && mine && <ResultsPart account={account} now={now} />}
        {(part === "money" || part === "overview") && <MoneyPart account={account} now={now} mine={mine} />}
      </Suspense>
    </>
  );
}
