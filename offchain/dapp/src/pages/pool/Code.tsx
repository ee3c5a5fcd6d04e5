import { useQuery } from "@tanstack/react-query";
import type { PoolWhole } from "../../api/pools";
import { checkCode } from "../../chain/code";
import { builtCode } from "../../chain/generated/builtCode";
import { Address } from "../../ui/Address";
import { Copy } from "../../ui/Copy";
import { DataTable } from "../../ui/DataTable";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { State } from "../../ui/State";
import { PoolProblem, usePoolChain, useWallet, wallets } from "../../wallet";

const CHECK = "make verify-bytecode DEPLOYMENT=pool.json RPC=https://…";

/** What is deployed where, and whether it is what this app was built with. */
export function Code({ pool }: { pool: PoolWhole }) {
  return (
    <section className="rows" aria-label="Contracts and their code">
      <h2>Contracts and their code</h2>
      <p>
        Nobody outside has audited the contracts. They have no proxy that could be upgraded, and no administrator who
        could move funds: what stands here is what runs, for ever.
      </p>
      <Checked />
      <p>
        Chain {pool.chain_id}, deployed at block {pool.deployed_at_block.toLocaleString("en")}. The hashes below are
        what the gateway's node tells. To trust neither it nor this app, build the contracts from source and compare
        them with what a node of your own has:
      </p>
      <div className="line">
        <code>{CHECK}</code>
        <Copy text={CHECK} what="the command that checks the code" />
      </div>
      <DataTable
        caption="Contracts"
        rows={Object.entries(pool.contracts)}
        rowKey={([name]) => name}
        columns={[
          { name: "Contract", cell: ([name]) => name },
          { name: "Address", cell: ([, address]) => <Address address={address} /> },
          { name: "Keccak-256 of its code", cell: ([name]) => <Hash hash={pool.code_hashes[name]} /> },
        ]}
      />
    </section>
  );
}

/** The comparison that the browser makes, and by whose word: a gateway's node can say of itself what it likes. */
function Checked() {
  const { pool, chain, sender, error, retry } = usePoolChain();
  const { chosen } = useWallet();
  const lent = pool && sender ? wallets.lentNode(pool.chainId) : null;
  const own = sender !== null && lent === null;
  const found = useQuery({
    queryKey: ["onchain", "code", pool?.controller, sender !== null],
    queryFn: async () => (pool && chain ? await checkCode(chain, pool, builtCode) : []),
    enabled: pool !== undefined && chain !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error) return <PoolProblem error={error} onRetry={retry} />;
  if (found.error) return <ProblemView error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data || found.data.length === 0) return <Skeleton rows={3} />;
  const different = found.data.find(({ why }) => why !== null);
  return (
    <section
      className={different ? "notice bad" : own ? "notice" : "notice warning"}
      aria-label="The code as checked here"
    >
      <h3>
        {different
          ? `${different.name} is not what this app was built with: ${different.why}.`
          : own
            ? "The pool runs on the contracts that this app was built with."
            : "By the gateway's word alone, the pool runs on the contracts that this app was built with."}
      </h3>
      <p>
        {own
          ? `Your browser compared them byte by byte with what ${chosen?.info.name ?? "your wallet"}'s node has; no gateway was asked.`
          : lent
            ? `Your wallet learned of this network from this page, and reads it by way of ${lent}: give it a node of your own.`
            : "No wallet is connected, so the node that answered is the gateway's, which could say anything. Connect one to have its node asked."}
      </p>
      {different && <p>Sign nothing for this pool before somebody whom you trust has explained that.</p>}
      <details>
        <summary>{found.data.length} contracts were looked at</summary>
        <DataTable
          caption="Contracts as checked here"
          rows={found.data}
          rowKey={({ name, address }) => `${name} ${address}`}
          columns={[
            { name: "Contract", cell: ({ name }) => name },
            { name: "Address", cell: ({ address }) => <Address address={address} /> },
            {
              name: "Compared with the build",
              cell: ({ why }) => <State is={why === null ? "good" : "bad"}>{why === null ? "Same" : why}</State>,
            },
          ]}
        />
      </details>
    </section>
  );
}

function Hash({ hash }: { hash: string | undefined }) {
  if (hash === undefined) return "not known";
  return (
    <span className="address">
      <span className="mono" title={hash}>
        {hash.slice(0, 18)}…{hash.slice(-8)}
      </span>
      <Copy text={hash} what="the hash" />
    </span>
  );
}
