import type { MachineWhole } from "../../api/machines";
import { usePool } from "../../api/queries";
import type { Token } from "../../api/types";
import { formatDuration } from "../../format";
import { Facts } from "../../ui/Facts";
import { percent, starsOf } from "../market/words";

interface Props {
  readonly machine: MachineWhole;
  readonly token: Token | undefined;
}

/** What the chain remembers of a machine, and how its provider's score comes about. */
export function Record({ machine, token }: Props) {
  const { leases } = machine;
  const unit = usePool().data?.params.min_stake_per_gpu;
  return (
    <section className="panel rows" aria-label="How it has done">
      <h2>How it has done</h2>
      <Facts
        facts={[
          ["Provider's score", machine.score === null ? "not known yet" : `${machine.score} of 1000`],
          ["Stars", machine.stars === null ? "nobody has rated it" : `${starsOf(machine)} tenants, by what they paid`],
          ["Up in the last 30 days", `${percent(machine.uptime)}; ${outages(leases)}`],
          [
            "Leases",
            `${leases.started} began, ${leases.declined} declined, ${leases.unstarted} left unstarted, ${leases.terminated} ended early`,
          ],
        ]}
      />
      <details>
        <summary>How a score is computed</summary>
        <div className="rows score-formula">
          <pre>score = 1000 · fees / (fees + u + 10 · slashed + (terminated + unstarted) · u / 100)</pre>
          <p>
            Fees are the pool's part of what the provider's leases have paid, ever; slashed is what its machines lost to
            faults, and halves every 90 days; terminated are leases that it ended early with a penalty; unstarted those
            that nobody started in time. u is the least stake of a GPU in this pool
            {typeof unit === "string" && token !== undefined ? `: ${unit} ${token.symbol}` : ""}. A score lowers the
            least stake, by half at most, and does nothing else.
          </p>
        </div>
      </details>
    </section>
  );
}

function outages({ outages, downtime }: MachineWhole["leases"]): string {
  if (outages === 0) return "no outage";
  return `${outages} ${outages === 1 ? "outage" : "outages"}, ${formatDuration(downtime)} in all`;
}
