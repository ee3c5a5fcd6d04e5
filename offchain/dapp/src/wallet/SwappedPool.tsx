import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { type ClaimedPool, type PoolContracts, type PoolSwapped, rememberInstead } from "../chain";
import { shortAddress } from "../format";
import { Copy } from "../ui/Copy";
import { Facts } from "../ui/Facts";
import "./swapped.css";

interface Props {
  readonly swapped: PoolSwapped;
  /** The other way out, before the button that changes. */
  readonly children?: ReactNode;
}

/** The gateway names another pool than before: which, what changing to it changes, what to compare first, and the button.
 * What is remembered then is the pool that stands here, so that a third one is refused again. */
export function SwappedPool({ swapped: { message, before, now, contracts }, children }: Props) {
  const queries = useQueryClient();
  const [compared, setCompared] = useState(false);
  const change = (): void => {
    rememberInstead(now, localStorage);
    void queries.resetQueries({ queryKey: ["onchain", "pool"] });
  };
  return (
    <section className="notice bad swapped-pool" role="alert">
      <h2>{message}</h2>
      <p>Nothing was signed for it. Whoever swaps a pool can have you pay into one whose rules are theirs.</p>
      <Facts
        facts={[
          ["Used before", <Said key="before" pool={before} what="the address of the pool used before" />],
          ["Named now", <Said key="now" pool={now} what="the address of the pool named now" />],
        ]}
      />
      <h3>What changes with it</h3>
      <ul>
        <li>Machines, prices, leases and your ledger are the other pool's, by its owner's fees and rules.</li>
        <li>
          Your leases and money in the former pool stay there, and its leases are billed until they end. A gateway that
          serves it shows them, and so does the prompt.
        </li>
      </ul>
      <h3>What to check first</h3>
      <ul>
        <li>
          Compare the whole address with one that you have from elsewhere than this gateway, such as from the pool's
          owner.
        </li>
        <li>
          <ContractsSaid contracts={contracts} />
        </li>
      </ul>
      {contracts !== "unread" && (
        <label className="line">
          <input type="checkbox" checked={compared} onChange={(event) => setCompared(event.target.checked)} />
          <span>I have compared the address of the pool named now with one from elsewhere.</span>
        </label>
      )}
      <div className="line">
        {children}
        {contracts !== "unread" && (
          <button type="button" className="button" disabled={!compared} onClick={change}>
            Change to pool {shortAddress(now.controller)}
          </button>
        )}
      </div>
    </section>
  );
}

/** What a change to it would be a change to: a pool that is remembered is not compared again. */
function ContractsSaid({ contracts }: { contracts: PoolContracts }) {
  if (contracts === "unread") {
    return (
      <>Connect a wallet: its own node compares the contracts of the pool named now, and then you can change to it.</>
    );
  }
  if (contracts === "as built") {
    return (
      <>Its contracts are those that this app was built with, by your wallet's node: nothing there is to be done.</>
    );
  }
  return (
    <strong>
      It does not run on the contracts that this app was built with. {contracts.different}. Whatever it is let take of
      your wallet it may keep: change to it only if somebody whom you trust has explained that.
    </strong>
  );
}

function Said({ pool, what }: { pool: ClaimedPool; what: string }) {
  return (
    <>
      <span className="line">
        <code className="break">{pool.controller}</code> <Copy text={pool.controller} what={what} />
      </span>
      <span className="small soft">
        on network {pool.chainId}, paid in the token <code className="break">{pool.token}</code>
      </span>
    </>
  );
}
