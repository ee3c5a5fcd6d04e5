import type { PoolWhole } from "../../api/pools";
import { formatAmount } from "../../format";

/** How a provider's score comes about: the formula of the contracts' `Score`, with this pool's own figure in it. */
export function Scoring({ pool }: { pool: PoolWhole }) {
  const stake = pool.params.min_stake_per_gpu;
  return (
    <section className="panel rows" aria-label="Score">
      <h2>How a provider's score comes about</h2>
      <p>
        <code className="break">
          score = 1000 · fees ÷ (fees + u + 10 · slashed + (terminated + unstarted) · u ÷ 100)
        </code>
      </p>
      <p>
        <em>Fees</em> are what the provider's leases have paid to the pool, <em>u</em> is the least stake of a GPU
        {typeof stake === "string" && ` (${stake} ${pool.token.symbol} here)`}, <em>slashed</em> what faults took,
        halving every 90 days; <em>terminated</em> and <em>unstarted</em> count leases that the provider ended early or
        never began. Only fees raise it, and each costs what it is worth: a score of 500 takes as much in fees as a GPU
        takes in stake{typeof stake === "string" && halfOf(pool, stake)}.
      </p>
    </section>
  );
}

/** What the best score saves: at most half of the stake. */
function halfOf({ token }: PoolWhole, stake: string): string {
  const scale = 10n ** BigInt(token.decimals);
  const [whole = "0", digits = ""] = stake.split(".");
  const units = BigInt(whole) * scale + BigInt(digits.padEnd(token.decimals, "0").slice(0, token.decimals) || "0");
  return `, and the best one saves half of the stake, ${formatAmount(units / 2n, token.decimals)} ${token.symbol} of each GPU`;
}
