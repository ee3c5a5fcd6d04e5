import { useQuery } from "@tanstack/react-query";
import type { PoolWhole } from "../../api/pools";
import { PoolSwapped, readFunds } from "../../chain";
import { Address } from "../../ui/Address";
import { Facts } from "../../ui/Facts";
import { Money } from "../../ui/Money";
import { usePoolChain } from "../../wallet";

/** Where fees go, and what lies there: by the node that the page reads, the wallet's where one is connected. */
export function Treasury({ pool: { treasury, params, token } }: { pool: PoolWhole }) {
  const { pool, chain, sender, error: noPool } = usePoolChain();
  const { data, error } = useQuery({
    queryKey: ["onchain", "treasury", pool?.controller, treasury, sender !== null],
    queryFn: async () => (pool && chain ? await readFunds(chain, pool, treasury) : null),
    enabled: pool !== undefined && chain !== undefined,
  });
  const unknown =
    noPool instanceof PoolSwapped
      ? "not asked: this is another pool than the one that this browser used before"
      : (noPool ?? error)
        ? "not known: no node of the chain answers"
        : "…";
  const fee = params.fee_bps;
  return (
    <section className="panel rows" aria-label="Treasury">
      <h2>Treasury</h2>
      <Facts
        facts={[
          ["Account", <Address key="account" address={treasury} />],
          typeof fee === "number" ? ["Gets", `${fee / 100} % of what providers earn`] : undefined,
          ["In its ledger here", data ? <Money key="ledger" amount={data.ledger} token={token} /> : unknown],
          ["In its wallet", data ? <Money key="wallet" amount={data.wallet} token={token} /> : unknown],
        ]}
      />
      <p className="small soft">
        The pool's owner can name another account for it; what is there already stays where it is.
      </p>
    </section>
  );
}
