import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { gateway } from "../../api/gateway";
import { useLive } from "../../api/live";
import { useMachinesOf } from "../../api/queries";
import type { Part } from "../../api/types";
import { Page } from "../../app/Page";
import { Empty } from "../../ui/Empty";
import { Money } from "../../ui/Money";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Time } from "../../ui/Time";
import { type Account, WithWallet } from "../../wallet";
import { LeasedShare } from "./LeasedShare";
import { LeaseStateView } from "./LeaseStateView";
import { TellMe } from "./TellMe";
import "../../ui/rows.css";
import "./leases.css";

interface LeaseItem {
  readonly id: string;
  readonly machine: number;
  readonly state: string;
  readonly cells: number;
  readonly start: number;
  readonly end: number;
  readonly deposit: string;
}

/** Every lease of the account that is connected: first those that still cost, and the newest first. */
export default function LeasesPage() {
  return (
    <Page title="Your leases" command="leasehold leases">
      <WithWallet why="Leases are an account's: connect the wallet whose leases you want to see.">
        {(account) => (
          <div className="rows">
            <TellMe account={account} />
            <Leases account={account} />
          </div>
        )}
      </WithWallet>
    </Page>
  );
}

function Leases({ account }: { account: Account }) {
  const tenant = account.sender.account;
  useLive([`leases:${tenant}`, "block"]);
  const leases = useQuery({
    queryKey: ["leases", tenant],
    queryFn: ({ signal }) => gateway.get<Part<LeaseItem>>("leases", { tenant, limit: 200 }, signal),
    refetchInterval: 5_000,
  });
  const machines = useMachinesOf(leases.data?.items.map(({ machine }) => machine) ?? []);
  if (leases.error) return <ProblemView error={leases.error} onRetry={() => void leases.refetch()} />;
  if (!leases.data) return <Skeleton rows={4} />;
  if (leases.data.items.length === 0) {
    return (
      <Empty says="This account has no lease yet.">
        <Link className="button primary" to="/">
          Find a machine
        </Link>
      </Empty>
    );
  }
  const [live, past] = [false, true].map((over) => leases.data.items.filter(({ state }) => ended(state) === over));
  return (
    <ul className="row-list">
      {[...(live ?? []), ...(past ?? [])].map((lease) => (
        <li key={lease.id}>
          <Link to={`/leases/${lease.id}`} className="linked-row lease-row">
            <strong>Lease {lease.id}</strong>
            <LeaseStateView state={lease.state} />
            <LeasedShare cells={lease.cells} number={lease.machine} machine={machines.get(lease.machine)} />
            <span>
              {ended(lease.state) ? "ended" : "ends"} <Time at={lease.end} past={ended(lease.state)} />
            </span>
            <span>
              deposit <Money amount={lease.deposit} token={account.pool.money} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function ended(state: string): boolean {
  return ["ended", "cancelled", "rejected"].includes(state);
}
