import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { useLive } from "../../api/live";
import { claimDeed, formatLease, parseLease } from "../../chain";
import { exact } from "../../format";
import { claim, claimableOf } from "../../providing";
import { DataTable } from "../../ui/DataTable";
import { DeedPanel } from "../../ui/DeedPanel";
import { Money } from "../../ui/Money";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Time } from "../../ui/Time";
import { type Account, DoingView, typedDataSigner, useDoing } from "../../wallet";
import { fetchLeases } from "./leasesOf";

const LOOK_EVERY = 30_000;
/** Leases that are looked at on the chain at once, and claimed in one transaction. */
const MOST = 50;

/** What running leases have brought up to now, and one button that takes it into the ledger. */
export function Claims({ account, onDone }: { account: Account; onDone: () => Promise<unknown> }) {
  const { chain, pool, sender } = account;
  const provider = sender.account;
  useLive([`leases:${provider}`, "machines"]);
  const due = useQuery({
    queryKey: ["machines", "claimable", pool.controller, provider],
    queryFn: async ({ signal }) => {
      const active = await fetchLeases({ provider, state: "active", limit: MOST }, signal);
      return await claimableOf(
        chain,
        pool,
        provider,
        active.map(({ id }) => parseLease(id)),
      );
    },
    refetchInterval: LOOK_EVERY,
  });
  const { doing, run } = useDoing();
  const about = due.data?.reduce((sum, { keeps }) => sum + keeps, 0n) ?? 0n;
  const act = (): void =>
    void run("this claim", async (tell) => {
      await claim({ ...account, signTypedData: typedDataSigner(sender), tell }, due.data ?? []);
      await Promise.all([due.refetch(), onDone()]);
    });
  if (due.error) return <ProblemView error={due.error} onRetry={() => void due.refetch()} />;
  if (due.data === undefined) return <Skeleton rows={3} />;
  const ids = due.data.map(({ lease }) => lease.id);
  return (
    <DeedPanel
      title="What can be claimed now"
      words={ids.length ? claimDeed(pool, ids, about).words : "No lease that runs has brought anything to claim yet."}
      facts={[
        ["What is not claimed", "is yours all the same: it comes into your ledger when the lease ends"],
        ["The newest time", "stays unclaimed while tenants can still say that the machine was down"],
      ]}
      asks="one transaction."
    >
      {due.data.length > 0 && (
        <DataTable
          caption="Leases that pay"
          rows={due.data}
          rowKey={({ lease }) => String(lease.id)}
          columns={[
            {
              name: "Lease",
              cell: ({ lease }) => <Link to={`/leases/${formatLease(lease.id)}`}>Lease {formatLease(lease.id)}</Link>,
            },
            { name: "Machine", numeric: true, cell: ({ lease }) => lease.machine },
            { name: "Ends", cell: ({ lease }) => <Time at={lease.end} /> },
            { name: "Bill", numeric: true, cell: ({ settles }) => <Money amount={settles} token={pool.money} /> },
            { name: "You keep", numeric: true, cell: ({ keeps }) => <Money amount={keeps} token={pool.money} /> },
          ]}
        />
      )}
      <div className="line">
        <button type="button" className="button primary" disabled={doing.busy || about === 0n} onClick={act}>
          {about === 0n ? "Claim" : `Claim about ${exact(about, pool.money)}`}
        </button>
      </div>
      <DoingView doing={doing} chain={chain} />
    </DeedPanel>
  );
}
