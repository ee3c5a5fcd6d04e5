import { type ReactNode, useState } from "react";
import type { PublicClient } from "viem";
import { gateway } from "../api/gateway";
import type { Pool, Sender } from "../chain";
import { ProblemView } from "../ui/ProblemView";
import { Skeleton } from "../ui/Skeleton";
import { ConnectWallet } from "./ConnectWallet";
import { PoolProblem } from "./PoolProblem";
import { usePoolChain } from "./usePoolChain";
import { useWallet, wallets } from "./useWallet";

/** What a page that signs stands on. */
export interface Account {
  readonly chain: PublicClient;
  readonly pool: Pool;
  readonly sender: Sender;
}

/** Shows its page to whoever has a wallet on the pool's network, and to others the one step that lacks. */
export function WithWallet({ why, children }: { why: string; children: (account: Account) => ReactNode }) {
  const { account } = useWallet();
  const { pool, chain, sender, wrongNetwork, error, retry } = usePoolChain();
  if (account === null) {
    return (
      <section className="panel rows" aria-label="Connect a wallet">
        <p>{why}</p>
        <ConnectWallet />
      </section>
    );
  }
  if (wrongNetwork !== null) return <WrongNetwork chainId={wrongNetwork} />;
  if (error !== null) return <PoolProblem error={error} onRetry={retry} />;
  if (pool === undefined || chain === undefined || sender === null) return <Skeleton rows={4} />;
  return children({ chain, pool, sender });
}

/** The wallet is on another network than the pool: one button has it change. */
export function WrongNetwork({ chainId }: { chainId: number }) {
  const wallet = useWallet();
  const [error, setError] = useState<unknown>(null);
  const change = (): void => {
    setError(null);
    const network = { chainId, name: `Network ${chainId}`, rpcUrl: gateway.url("rpc") };
    wallets.switchTo(network).catch(setError);
  };
  return (
    <section className="notice warning" role="alert">
      <h2>Your wallet is on another network.</h2>
      <p>
        It is on network {wallet.chainId}, and this pool is on network {chainId}. Nothing can be signed for it from
        there.
      </p>
      <button type="button" className="button primary" onClick={change}>
        Switch to network {chainId}
      </button>
      {error !== null && <ProblemView error={error} />}
    </section>
  );
}
