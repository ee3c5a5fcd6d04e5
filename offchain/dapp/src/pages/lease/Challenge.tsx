import { useQuery } from "@tanstack/react-query";
import { isAddressEqual } from "viem";
import { type Lease, LeaseState, proveDeed, readChallenging, send } from "../../chain";
import { exact } from "../../format";
import { challenge } from "../../renting";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Time } from "../../ui/Time";
import { type Account, DoingView, typedDataSigner, useDoing } from "../../wallet";

/** A machine that says nothing is asked for a sign of life, with a bond. */
export function Challenge({ account, lease }: { account: Account; lease: Lease }) {
  const { pool, chain, sender } = account;
  const { doing, run } = useDoing();
  const standing = useQuery({
    queryKey: ["onchain", "challenge", pool.controller, lease.machine, sender.account],
    queryFn: () => readChallenging(chain, pool, lease.machine, sender.account),
    refetchInterval: 10_000,
  });
  if (lease.state !== LeaseState.active) return null;
  const now = standing.data;
  const ask = (bond: bigint): void =>
    void run("this challenge", async (tell) => {
      await challenge({ ...account, signTypedData: typedDataSigner(sender), tell }, lease.machine, lease.id, bond);
      await standing.refetch();
    });
  const prove = (): void =>
    void run("this word", async (tell) => {
      if (!now) return;
      const deed = proveDeed(now.faults, lease.machine);
      await send(deed, sender, chain, (stage) => tell(deed.words, stage), pool.money);
      await standing.refetch();
    });
  return (
    <details className="more">
      <summary>The machine says nothing</summary>
      <div className="rows">
        <p>
          You put a bond at stake. If the operator answers in time, the bond is gone. If not, it comes back, the machine
          is down since you asked, nothing is billed from then on, and you share in what it costs the provider.
        </p>
        {standing.error && <ProblemView error={standing.error} onRetry={() => void standing.refetch()} />}
        {!now && !standing.error && <Skeleton rows={1} />}
        {now && now.at > 0 && (
          <>
            <p>
              {isAddressEqual(now.challenger, sender.account) ? "You have" : "Somebody has"} challenged it{" "}
              <Time at={now.at} />.
            </p>
            <div className="line">
              <button type="button" className="button" disabled={doing.busy} onClick={prove}>
                Say that nobody answered in time
              </button>
            </div>
          </>
        )}
        {now && now.at === 0 && (
          <div className="line">
            <button type="button" className="button" disabled={doing.busy} onClick={() => ask(now.bond)}>
              Challenge machine {lease.machine} with {exact(now.bond, pool.money)} at stake
            </button>
          </div>
        )}
        <DoingView doing={doing} chain={chain} />
      </div>
    </details>
  );
}
