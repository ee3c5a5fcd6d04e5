import type { Param, PoolWhole } from "../../api/pools";
import { capitalised, formatDuration, inWords } from "../../format";
import { Facts } from "../../ui/Facts";
import { Time } from "../../ui/Time";
import { MEANINGS } from "./meanings";
import "./pool.css";

/** The rules in force, and what is proposed in their place. */
export function Parameters({ pool }: { pool: PoolWhole }) {
  const rows = Object.entries(pool.params).filter(([name]) => !ACCOUNTS.has(name));
  return (
    <section className="rows" aria-label="Parameters">
      <h2>Parameters, version {pool.params_version}</h2>
      {pool.proposed !== null && (
        <div className="notice warning">
          <h3>
            Version {pool.proposed.version} is proposed, and may be accepted <Time at={pool.proposed.in_force_at} />
          </h3>
          <ul>
            {pool.proposed.changes.map(({ name, before, after }) => (
              <li key={name}>
                {inWords(name)}: {written(name, before, pool)}, then {written(name, after, pool)}
              </li>
            ))}
          </ul>
        </div>
      )}
      <div className="panel">
        <Facts
          facts={rows.map(([name, value]) => [
            capitalised(inWords(name).replace(/ (bps|seconds)$/, "")),
            <span className="parameter">
              <span className="numbers">{written(name, value, pool)}</span>
              <span className="small soft">{MEANINGS[name]}</span>
            </span>,
          ])}
        />
      </div>
    </section>
  );
}

const ACCOUNTS = new Set(["arbiter", "sink"]);
const SPANS = /_(window|seconds|lag|delay|interval)$/;
const AMOUNTS = new Set(["min_stake_per_gpu", "bond", "seat_stake", "verification_fee"]);

/** A parameter's value with its unit. */
function written(name: string, value: Param, { token }: PoolWhole): string {
  if (name.endsWith("_bps") && typeof value === "number") return `${value / 100} %`;
  if (SPANS.test(name) && typeof value === "number") return formatDuration(value);
  return AMOUNTS.has(name) ? `${value} ${token.symbol}` : String(value ?? "nobody");
}
