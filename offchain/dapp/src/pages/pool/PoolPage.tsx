import { isAlone } from "../../api/gateway";
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
import { Scoring } from "./Scoring";
import { Seats } from "./Seats";
import { Slashes } from "./Slashes";
import { Treasury } from "./Treasury";

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
  const alone = isAlone();
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
            ["What is left of a slash", pool.sink === null ? "burnt" : <Address address={pool.sink} />],
            ["Token", `${pool.token.symbol}, ${pool.token.decimals} decimals`],
            ["New leases and machines", pool.paused ? "paused by the owner" : "accepted"],
            ["Who may register machines", pool.gated ? "who has a licence of the owner's" : "anybody"],
            ["Machines ever registered", pool.machines.toLocaleString("en")],
            alone
              ? undefined
              : [
                  "Quorum",
                  `${pool.quorum.seats} of ${pool.matured_seats} matured seats, of at least ${pool.quorum.validators} validators`,
                ],
          ]}
        />
      </section>
      {alone && (
        <p className="notice">
          No gateway is asked: of the pool stands here what the chain itself says, read by your wallet. Powers, seats,
          rounds and faults take a gateway, or <code>leasehold pool trust</code> at the prompt.
        </p>
      )}
      {!alone && <Powers powers={pool.powers} />}
      <Parameters pool={pool} />
      <Treasury pool={pool} />
      <Scoring pool={pool} />
      {!alone && (
        <>
          <Seats token={pool.token} />
          <Rounds token={pool.token} />
          <Slashes token={pool.token} />
        </>
      )}
      <Code pool={pool} />
    </>
  );
}
