import { useState } from "react";
import { LeaseState, otherShares, resizing } from "../../chain";
import { exact, formatShare } from "../../format";
import { resize } from "../../renting";
import { Facts } from "../../ui/Facts";
import { Money } from "../../ui/Money";
import { useNow } from "../../ui/useNow";
import { type Account, DoingView, typedDataSigner, useDoing } from "../../wallet";
import type { LeaseNow } from "./useLeaseOnChain";

interface Props {
  readonly account: Account;
  readonly now: Pick<LeaseNow, "lease" | "machine" | "head">;
  readonly onDone: () => Promise<void>;
}

/** Another share of the same machine, at the same price and until the same end. */
export function Resize({ account, now: { lease, machine, head }, onDone }: Props) {
  const [share, setShare] = useState<number | null>(null);
  const clock = Math.max(useNow(), head.time);
  const { doing, run } = useDoing();
  const shares = otherShares(lease, machine);
  if (lease.state !== LeaseState.active || shares.length === 0) return null;
  const { money } = account.pool;
  const change = share === null || !shares.includes(share) ? null : resizing(lease, share, clock);
  const act = (): void =>
    void run("resizing the lease", async (tell) => {
      if (change === null) return;
      await resize({ ...account, signTypedData: typedDataSigner(account.sender), tell }, lease.id, change);
      setShare(null);
      await onDone();
    });
  return (
    <details className="more">
      <summary>Another share of the machine</summary>
      <div className="rows">
        <fieldset className="line bare">
          <legend className="unseen">Share</legend>
          {shares.map((cells) => (
            <button
              key={cells}
              type="button"
              className="chip"
              aria-pressed={cells === share}
              onClick={() => setShare(cells)}
            >
              {formatShare(cells)}
            </button>
          ))}
        </fieldset>
        {change && (
          <>
            <Facts
              facts={[
                ["By the hour, now", <Money key="before" amount={change.hourlyBefore} token={money} places="exact" />],
                ["By the hour, then", <Money key="after" amount={change.hourly} token={money} places="exact" />],
                [
                  "Paid at once for the time until now",
                  <Money key="pays" amount={change.pays} token={money} places={6} />,
                ],
                change.charged
                  ? ["Goes into escrow", <Money key="charged" amount={change.charged} token={money} places={6} />]
                  : ["Comes back", <Money key="refunded" amount={change.refunded} token={money} places={6} />],
              ]}
            />
            <p className="small soft">
              The price and the end stay. The container follows, and is made anew where its GPUs are others.
            </p>
            <div className="line">
              <button type="button" className="button" disabled={doing.busy} onClick={act}>
                Give it {formatShare(change.share)} for {exact(change.hourly, money)} by the hour
              </button>
            </div>
          </>
        )}
        <DoingView doing={doing} chain={account.chain} />
      </div>
    </details>
  );
}
