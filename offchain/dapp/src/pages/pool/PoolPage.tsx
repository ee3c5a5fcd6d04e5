import { type AnsweredPool, usePool } from "../../api/queries";
import { Page } from "../../app/Page";
import { Address } from "../../ui/Address";
import { Facts } from "../../ui/Facts";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Code } from "./Code";
import { Parameters } from "./Parameters";
import { Powers } from "./Powers";
import { Rounds } from "./Rounds";
import { Seats } from "./Seats";

/** The pool: its rules, who can take what, who measures, and what code stands behind it. */
export default function PoolPage() {
  const { data: pool, error, refetch } = usePool();
  return (
    <Page title="The pool and its rules" command="leasehold pool trust">
      {pool !== undefined ? (
        <Shown pool={pool} />
      ) : error !== null ? (
        <ProblemView error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton rows={12} />
      )}
    </Page>
  );
}

function Shown({ pool }: { pool: AnsweredPool }) {
  return (
    <>
      <section className="panel rows" aria-label="Whose it is">
        <h2>Whose it is</h2>
        <Facts
          facts={[
            ["Owner", <Address address={pool.owner} />],
            pool.pending_owner === null ? undefined : ["Next owner", <Address address={pool.pending_owner} />],
            ["Treasury, which fees go to", <Address address={pool.treasury} />],
            ["Arbiter", pool.arbiter === null ? "nobody: there are no appeals" : <Address address={pool.arbiter} />],
            ["Rest of a slash", pool.sink === null ? "burnt" : <Address address={pool.sink} />],
            ["Token", `${pool.token.symbol}, ${pool.token.decimals} decimals`],
            ["Opening and registering", pool.paused ? "paused" : "open"],
            ["Registering takes a licence", pool.gated ? "yes" : "no"],
            ["Machines, ever", pool.machines.toLocaleString("en")],
            [
              "Quorum",
              `${pool.quorum.seats} of ${pool.matured_seats} matured seats, of at least ${pool.quorum.validators} validators`,
            ],
          ]}
        />
      </section>
      <Powers powers={pool.powers} />
      <Parameters pool={pool} />
      <Seats token={pool.token} />
      <Rounds token={pool.token} />
      <Code pool={pool} />
    </>
  );
}
