import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Address, isAddress, parseUnits } from "viem";
import { delegateDeed, formatLease, readDelegation, readHead, send } from "../../chain";
import { exact, formatAbsolute, formatDuration } from "../../format";
import { ProblemView } from "../../ui/ProblemView";
import { type Account, DoingView, useDoing } from "../../wallet";

const DAYS = [1, 7, 30];
const DAY = 86_400;
const AMOUNT = /^\d{1,12}(\.\d{1,18})?$/;

/** Extended while nobody looks: by somebody who may spend so much of the ledger, and not a unit more. */
export function KeptGoing({ account, lease }: { account: Account; lease: bigint }) {
  const [guard, setGuard] = useState("");
  const [cap, setCap] = useState("");
  const [days, setDays] = useState(7);
  const { doing, run } = useDoing();
  const { pool, chain, sender } = account;
  const delegate = isAddress(guard.trim()) ? (guard.trim() as Address) : null;
  const standing = useQuery({
    queryKey: ["onchain", "delegation", pool.controller, sender.account, delegate],
    queryFn: () => (delegate === null ? null : readDelegation(chain, pool, sender.account, delegate)),
    enabled: delegate !== null,
  });
  const units = AMOUNT.test(cap.trim()) ? parseUnits(cap.trim(), pool.money.decimals) : null;
  const allow = (amount: bigint, lasting: number): void =>
    void run("this leave", async (tell) => {
      if (delegate === null || !standing.data) return;
      const expiry = amount ? (await readHead(chain)).time + lasting : 0;
      const deed = delegateDeed(pool, standing.data.accounts, delegate, amount, expiry);
      await send(deed, sender, chain, (stage) => tell(deed.words, stage), pool.money);
      await standing.refetch();
    });
  const now = standing.data;
  return (
    <details className="more">
      <summary>Have your own guard extend it, up to a cap</summary>
      <div className="rows">
        <p>
          A guard extends the lease before it ends. It may open, extend, resize and close leases from your ledger up to
          the cap, which the contract keeps; it can never withdraw or transfer.
        </p>
        <div className="line fields">
          <div className="field">
            <label htmlFor="guard">Your guard's account</label>
            <input
              id="guard"
              className="input mono"
              placeholder="0x…"
              spellCheck={false}
              aria-invalid={guard !== "" && delegate === null}
              value={guard}
              onChange={(event) => setGuard(event.target.value)}
            />
          </div>
          <div className="field">
            <label htmlFor="cap">At most, in {pool.money.symbol}</label>
            <input
              id="cap"
              className="input"
              inputMode="decimal"
              aria-invalid={cap !== "" && units === null}
              value={cap}
              onChange={(event) => setCap(event.target.value)}
            />
          </div>
          <div className="field">
            <label htmlFor="lasting">For</label>
            <select
              id="lasting"
              className="input"
              value={days}
              onChange={(event) => setDays(Number(event.target.value))}
            >
              {DAYS.map((count) => (
                <option key={count} value={count}>
                  {formatDuration(count * DAY)}
                </option>
              ))}
            </select>
          </div>
        </div>
        {standing.error && <ProblemView error={standing.error} onRetry={() => void standing.refetch()} />}
        {now && now.since > 0 && now.cap > 0n && (
          <p>
            It may spend {exact(now.cap, pool.money)} until {formatAbsolute(now.expiry)}, of which{" "}
            {exact(now.spent, pool.money)} are spent.
          </p>
        )}
        <div className="line">
          <button
            type="button"
            className="button"
            disabled={doing.busy || !now || !units}
            onClick={() => units && allow(units, days * DAY)}
          >
            {units ? `Let it spend up to ${exact(units, pool.money)}` : "Let it spend up to the cap"}
          </button>
          {now && now.cap > 0n && (
            <button type="button" className="button" disabled={doing.busy} onClick={() => allow(0n, 0)}>
              Let it spend nothing any more
            </button>
          )}
        </div>
        <p className="small soft">
          Where the guard runs:{" "}
          <code className="break">
            leasehold auto-extend {formatLease(lease)} --by 1h --at-most 12h --for-account {sender.account}
          </code>
        </p>
        <DoingView doing={doing} chain={chain} />
      </div>
    </details>
  );
}
