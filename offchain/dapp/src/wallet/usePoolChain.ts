import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import {
  type Address,
  createPublicClient,
  createWalletClient,
  custom,
  type EIP1193Provider,
  http,
  type PublicClient,
} from "viem";
import { gateway, isAlone } from "../api/gateway";
import type { PoolWhole } from "../api/pools";
import { usePool } from "../api/queries";
import { type ClaimedPool, type Deed, type GaslessStage, type Pool, readPool, type Sender } from "../chain";
import { admit } from "./firstUse";
import { useWallet } from "./useWallet";

const POLL = 1_000;

/** The pool by the chain's word, and by whose node. `sender` is null while no wallet on its network is connected. */
export interface PoolChain {
  readonly pool: Pool | undefined;
  readonly chain: PublicClient | undefined;
  readonly sender: Sender | null;
  /** The network that the wallet would have to be on, where it is on another. */
  readonly wrongNetwork: number | null;
  readonly error: Error | null;
  readonly retry: () => void;
}

/** The pool that the gateway serves, read from the wallet's own node where there is one, else by the gateway's. */
export function usePoolChain(): PoolChain {
  const claimed = usePool();
  const wallet = useWallet();
  const { account } = wallet;
  const ask = claimed.refetch;
  useEffect(() => {
    if (isAlone() && account !== null) void ask(); // the wallet is who answers, and was not connected before
  }, [account, ask]);
  const wanted = claimed.data && claimedOf(claimed.data);
  const provider = wallet.account && wallet.chainId === wanted?.chainId ? wallet.chosen?.provider : undefined;
  const chain = useMemo(() => clientOf(provider), [provider]);
  const pool = useQuery({
    queryKey: ["onchain", "pool", wanted?.chainId, wanted?.controller, provider !== undefined],
    queryFn: async () => {
      if (wanted === undefined) throw new Error("the pool is not known yet");
      const read = await readPool(chain, wanted);
      await admit(chain, read, localStorage, provider !== undefined);
      return read;
    },
    enabled: wanted !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const connected = wallet.account !== null && wanted !== undefined;
  return {
    pool: pool.data,
    chain: pool.data && chain,
    sender: useSender(wallet.account, provider, chain, pool.data),
    wrongNetwork: connected && provider === undefined ? wanted.chainId : null,
    error: claimed.error ?? pool.error,
    retry: () => void (claimed.error ? claimed : pool).refetch(),
  };
}

function useSender(
  account: Address | null,
  provider: EIP1193Provider | undefined,
  chain: PublicClient,
  pool: Pool | undefined,
): Sender | null {
  return useMemo(() => {
    if (!account || !provider) return null;
    const sender = { account, provider };
    if (!pool) return sender;
    const gasless = async (deed: Deed, tell: (stage: GaslessStage) => void) => {
      const { sendGasless } = await import("../gasless"); // what a first visit does without
      const signTypedData = typedDataSigner(sender);
      return await sendGasless({ chain, pool, account, signTypedData, tell }, deed);
    };
    return { ...sender, gasless };
  }, [account, provider, chain, pool]);
}

function clientOf(provider: EIP1193Provider | undefined): PublicClient {
  const transport = provider ? custom(provider) : http(gateway.url("rpc")); // alone, nothing is asked without a wallet
  return createPublicClient({ transport, pollingInterval: POLL });
}

/** Has the sender's wallet sign typed data; its window shows what. */
export function typedDataSigner(sender: Sender) {
  const client = createWalletClient({ account: sender.account, transport: custom(sender.provider) });
  return client.signTypedData.bind(client);
}

/** Has the sender's wallet sign a text; its window shows it. */
export function textSigner(sender: Sender) {
  const client = createWalletClient({ account: sender.account, transport: custom(sender.provider) });
  return async (message: string) => await client.signMessage({ message });
}

function claimedOf(pool: PoolWhole): ClaimedPool {
  return {
    chainId: pool.chain_id,
    controller: pool.controller,
    token: pool.token.address,
    block: BigInt(pool.deployed_at_block),
  };
}
