import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { useMachinesOf } from "../../api/queries";
import { bill, closeDeed, extensionCost, formatLease, LeaseState, readFunds, send, withdrawDeed } from "../../chain";
import { exact, formatDuration, show } from "../../format";
import { extend } from "../../renting";
import { Facts } from "../../ui/Facts";
import { Money } from "../../ui/Money";
import { useNow } from "../../ui/useNow";
import { type Account, DoingView, typedDataSigner, useDoing } from "../../wallet";
import { perOf } from "../market/words";
import { Challenge } from "./Challenge";
import { KeptGoing } from "./KeptGoing";
import { Rating } from "./Rating";
import { Resize } from "./Resize";
import { type LeaseNow, useLeaseEvents } from "./useLeaseOnChain";

const PursePart = lazy(() => import("./PursePart"));

interface Props {
  readonly account: Account;
  readonly now: LeaseNow;
  readonly mine: boolean;
}

const EXTENSIONS = [600, 3_600, 8 * 3_600, 86_400];

/** What it has cost by the second, what is left, and what can be done about either. */
export function MoneyPart({ account, now: { lease, params, machine, head }, mine }: Props) {
  const { pool, chain, sender } = account;
  const clock = Math.max(useNow(), head.time);
  const standing = bill(lease, clock, params, machine.downSince);
  const live = lease.state === LeaseState.opened || lease.state === LeaseState.active;
  const queries = useQueryClient();
  const { doing, run } = useDoing();
  const listed = useMachinesOf([lease.machine]).get(lease.machine);
  const funds = useQuery({
    queryKey: ["onchain", "funds", pool.controller, sender.account, lease.state, String(lease.deposit)],
    queryFn: () => readFunds(chain, pool, sender.account),
  });
  const looked = async (): Promise<void> =>
    void (await queries.invalidateQueries({ queryKey: ["lease", formatLease(lease.id)] }));
  const close = (): void =>
    void run("closing the lease", async (tell) => {
      const deed = closeDeed(pool, lease.id, standing.unused);
      await send(deed, sender, chain, (stage) => tell(deed.words, stage), pool.money);
      await looked(); // what came back is told by the chain's word, which a reorganisation can change
    });
  return (
    <section className="panel rows" aria-label="Money">
      <h2>Money</h2>
      <Facts
        facts={[
          [
            live ? "Spent so far" : "Spent in all",
            <Money key="used" amount={standing.used} token={pool.money} places={6} />,
          ],
          live
            ? [
                "Comes back if you close now",
                <Money key="unused" amount={standing.unused} token={pool.money} places={6} />,
              ]
            : undefined,
          live ? ["Time that is paid", formatDuration(standing.left)] : undefined,
          [
            live ? "In escrow" : "Was in escrow",
            <Money key="deposit" amount={lease.deposit} token={pool.money} places="exact" />,
          ],
          [
            "Price",
            <Money key="price" amount={lease.price} token={pool.money} per={perOf(listed?.kind)} places="exact" />,
          ],
          funds.data
            ? ["Your ledger", <Money key="ledger" amount={funds.data.ledger} token={pool.money} places={6} />]
            : undefined,
        ]}
      />
      {live && mine && <Extending account={account} lease={lease} onDone={looked} />}
      {live && mine && <Resize account={account} now={{ lease, machine, head }} onDone={looked} />}
      {mine && (
        <Suspense fallback={null}>
          <PursePart account={account} lease={lease} live={lease.state === LeaseState.active} />
        </Suspense>
      )}
      {live && mine && <KeptGoing account={account} lease={lease.id} />}
      {live && mine && <Challenge account={account} lease={lease} />}
      {live && mine && (
        <div className="line">
          <button type="button" className="button" disabled={doing.busy} onClick={close}>
            Close and take back {exact(roughly(standing.unused, pool.money.decimals), pool.money)}
          </button>
          <p className="small soft">
            The bill stops with the block that has it; what is unused comes back into your ledger.
          </p>
        </div>
      )}
      {!live && <Settled account={account} lease={lease.id} state={lease.state} />}
      {lease.state === LeaseState.ended && mine && <Rating account={account} lease={lease.id} />}
      {!live && mine && funds.data && funds.data.ledger > 0n && (
        <Withdraw account={account} ledger={funds.data.ledger} onDone={() => void funds.refetch()} />
      )}
      <DoingView doing={doing} chain={chain} />
    </section>
  );
}

function Extending({
  account,
  lease,
  onDone,
}: {
  account: Account;
  lease: LeaseNow["lease"];
  onDone: () => Promise<void>;
}) {
  const { pool, chain } = account;
  const [seconds, setSeconds] = useState(3_600);
  const { doing, run } = useDoing();
  if (lease.state !== LeaseState.active) return null;
  const amount = extensionCost(lease, seconds);
  const act = (): void =>
    void run("extending the lease", async (tell) => {
      const signTypedData = typedDataSigner(account.sender);
      await extend({ ...account, signTypedData, tell }, lease.id, seconds, amount);
      await onDone();
    });
  return (
    <div className="rows">
      <div className="line">
        <label htmlFor="extension">Longer by</label>
        <select
          id="extension"
          className="input"
          value={seconds}
          onChange={(event) => setSeconds(Number(event.target.value))}
        >
          {EXTENSIONS.map((length) => (
            <option key={length} value={length}>
              {formatDuration(length)}
            </option>
          ))}
        </select>
        <button type="button" className="button primary" disabled={doing.busy} onClick={act}>
          Extend by {formatDuration(seconds)} for {exact(amount, pool.money)}
        </button>
      </div>
      <DoingView doing={doing} chain={chain} />
    </div>
  );
}

function Settled({ account, lease, state }: { account: Account; lease: bigint; state: number }) {
  const events = useLeaseEvents(account, lease, state);
  const closed = events.data?.findLast((event) => "refunded" in event.args);
  if (!closed || !("refunded" in closed.args)) return null;
  const money = (amount: bigint) => <Money amount={amount} token={account.pool.money} places={6} />;
  return (
    <p role="status">
      It is settled: {money(closed.args.refunded)} came back into your ledger
      {"paid" in closed.args && "fee" in closed.args && (
        <>
          , {money(closed.args.paid)} went to the provider and {money(closed.args.fee)} to the pool
        </>
      )}
      .
    </p>
  );
}

function Withdraw({ account, ledger, onDone }: { account: Account; ledger: bigint; onDone: () => void }) {
  const { pool, chain, sender } = account;
  const { doing, run } = useDoing();
  const act = (): void =>
    void run("withdrawing", async (tell) => {
      const deed = withdrawDeed(pool, sender.account, ledger);
      await send(deed, sender, chain, (stage) => tell(deed.words, stage), pool.money);
      onDone();
    });
  return (
    <div className="rows">
      <div className="line">
        <button type="button" className="button" title={exact(ledger, pool.money)} disabled={doing.busy} onClick={act}>
          Withdraw {show(ledger, pool.money)} to your wallet
        </button>
      </div>
      <DoingView doing={doing} chain={chain} />
    </div>
  );
}

/** Cut to four decimals: on a button that names an amount which shrinks by the second. */
function roughly(units: bigint, decimals: number): bigint {
  const step = 10n ** BigInt(Math.max(0, decimals - 4));
  return (units / step) * step;
}
