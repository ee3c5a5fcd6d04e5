import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import type { Hex } from "viem";
import { type Fate, fateOf, formatLease, type Head, openedIn, type Pool } from "../../chain";
import type { Account } from "../../wallet";

const LOOK_EVERY = 2_000;

interface Props {
  readonly account: Account;
  readonly id: bigint;
  /** The transaction that opened it, where this tab sent it. */
  readonly opening: Hex | null;
}

/** A lease that was opened, and is not on the chain any more: what that means for money, and what becomes of the
 * transaction. The page goes on looking, and shows the lease again if it comes back. */
export function Undone({ account, id, opening }: Props) {
  const { chain, pool } = account;
  const fate = useQuery({
    queryKey: ["onchain", "fate", opening],
    queryFn: () => (opening === null ? null : fateOf(chain, opening)),
    enabled: opening !== null,
    refetchInterval: LOOK_EVERY,
  });
  const again = fate.data ? openedAgain(pool, fate.data) : null;
  return (
    <section className="notice warning" role="alert">
      <h2>The chain took your lease {formatLease(id)} back.</h2>
      <p>
        A reorganisation undid the block that had opened it. Nothing of it is locked or billed, and the machine stops
        what ran for it.
      </p>
      {fate.data && <p>{FATES[fate.data.kind]}</p>}
      {again !== null && again !== id && (
        <p>
          It was opened anew as <Link to={`/leases/${formatLease(again)}`}>lease {formatLease(again)}</Link>.
        </p>
      )}
      <Link className="button" to="/leases">
        See your leases
      </Link>
    </section>
  );
}

const FATES: Readonly<Record<Fate["kind"], string>> = {
  waiting: "The transaction that opened it waits to be mined again: then it costs what you signed, and no more.",
  gone: "The node no longer knows the transaction that opened it. Whoever kept it may still send it; rent anew if you want to.",
  refused: "The transaction that opened it was mined again, and the contract refused it: rent anew.",
  mined: "The transaction that opened it was mined again.",
  final: "The transaction that opened it was mined again, for good.",
};

function openedAgain(pool: Pool, fate: Fate): bigint | null {
  return fate.kind === "mined" || fate.kind === "final" ? openedIn(pool, fate.receipt) : null;
}

/** The past changed while the page was open, and the lease is still there. */
export function Reorganised({ block }: { block: Head }) {
  return (
    <p className="notice" role="status">
      The chain was reorganised at block {block.number.toLocaleString("en")}: what stands here is what it says now.
    </p>
  );
}
