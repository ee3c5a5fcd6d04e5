import type { PoolWhole } from "../../api/pools";
import { Address } from "../../ui/Address";
import { Copy } from "../../ui/Copy";
import { DataTable } from "../../ui/DataTable";

const CHECK = "make verify-bytecode DEPLOYMENT=pool.json RPC=https://…";

/** What is deployed where. What the code is, only a build of one's own says for sure: the page names the command. */
export function Code({ pool }: { pool: PoolWhole }) {
  return (
    <section className="rows" aria-label="Contracts and their code">
      <h2>Contracts and their code</h2>
      <p>
        Chain {pool.chain_id}, deployed at block {pool.deployed_at_block.toLocaleString("en")}. The hashes are what the
        gateway's node tells. To trust neither, build the contracts from source and compare them with what a node of
        your own has:
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
