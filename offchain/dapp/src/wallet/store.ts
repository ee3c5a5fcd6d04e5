/**
 * Which wallet is chosen, whose account it is and on which network: one state, that pages subscribe to.
 *
 * It is not asked for anything on its own account but `eth_accounts`, which opens no window.
 */
import type { Address, EIP1193Provider } from "viem";

import type { Memory } from "../chain";
import { type AnnouncedWallet, discover } from "./discovery";

/** `account` and `chainId` are null while no wallet is connected. */
export interface WalletState {
  readonly wallets: readonly AnnouncedWallet[];
  readonly chosen: AnnouncedWallet | null;
  readonly account: Address | null;
  readonly chainId: number | null;
}

/** What a wallet is told of a network that it does not know. */
export interface Network {
  readonly chainId: number;
  readonly name: string;
  readonly rpcUrl: string;
}

const LAST = "leasehold.wallet";
const LENT = "leasehold.network.";
const UNKNOWN_CHAIN = 4902;
const answers = () => import("./answers");
const NOTHING: WalletState = { wallets: [], chosen: null, account: null, chainId: null };

export class WalletStore {
  private state = NOTHING;
  private readonly listeners = new Set<() => void>();
  private readonly memory: Memory & Pick<Storage, "removeItem">;

  constructor(target: Window, memory: Memory & Pick<Storage, "removeItem">) {
    this.memory = memory;
    discover(target, (wallet) => void this.announced(wallet));
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): WalletState => this.state;

  /** Asks the wallet for its accounts, which opens its window. Throws a Problem. */
  async connect(wallet: AnnouncedWallet): Promise<void> {
    try {
      const accounts = await wallet.provider.request({ method: "eth_requestAccounts" });
      await this.use(wallet, accounts);
      this.memory.setItem(LAST, wallet.info.rdns);
    } catch (error) {
      throw (await answers()).problemOf(error, "connecting your wallet");
    }
  }

  /** Forgets the wallet here; the wallet may go on thinking that this page is connected. */
  disconnect(): void {
    this.memory.removeItem(LAST);
    this.set({ chosen: null, account: null, chainId: null });
  }

  /** Has the wallet change to the pool's network, and add it where it does not know it. Throws a Problem. */
  async switchTo(network: Network): Promise<void> {
    const provider = this.state.chosen?.provider;
    if (!provider) return;
    const chainId = `0x${network.chainId.toString(16)}` as const;
    try {
      await provider
        .request({ method: "wallet_switchEthereumChain", params: [{ chainId }] })
        .catch((error: unknown) => {
          if ((error as { code?: unknown }).code !== UNKNOWN_CHAIN) throw error;
          this.memory.setItem(`${LENT}${network.chainId}`, network.rpcUrl);
          return provider.request({
            method: "wallet_addEthereumChain",
            params: [
              {
                chainId,
                chainName: network.name,
                rpcUrls: [network.rpcUrl],
                nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
              },
            ],
          });
        });
      this.set({ chainId: await chainOf(provider) });
    } catch (error) {
      throw (await answers()).problemOf(error, "switching the network");
    }
  }

  /** The node that this page gave the wallet for a network, where the wallet did not know it: that node is the gateway's,
   * and what the wallet reads by it is the gateway's word. Null where the wallet had one of its own. */
  lentNode(chainId: number): string | null {
    return this.memory.getItem(`${LENT}${chainId}`);
  }

  private async announced(wallet: AnnouncedWallet): Promise<void> {
    if (this.state.wallets.some((known) => known.info.uuid === wallet.info.uuid)) return;
    this.set({ wallets: [...this.state.wallets, wallet] });
    if (this.state.chosen || this.memory.getItem(LAST) !== wallet.info.rdns) return;
    const accounts = await wallet.provider.request({ method: "eth_accounts" }).catch(() => []);
    if (accounts.length && !this.state.chosen) await this.use(wallet, accounts);
  }

  private async use(wallet: AnnouncedWallet, accounts: readonly Address[]): Promise<void> {
    const { getAddress } = await answers();
    const first = ([account]: readonly Address[]): Address | null => (account ? getAddress(account) : null);
    const chainId = await chainOf(wallet.provider);
    this.set({ chosen: wallet, account: first(accounts), chainId });
    wallet.provider.on?.("accountsChanged", (changed) => {
      if (this.state.chosen === wallet) this.set({ account: first(changed) });
    });
    wallet.provider.on?.("chainChanged", (changed) => {
      if (this.state.chosen === wallet) this.set({ chainId: Number(changed) });
    });
  }

  private set(change: Partial<WalletState>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener();
  }
}

async function chainOf(provider: EIP1193Provider): Promise<number> {
  return Number(await provider.request({ method: "eth_chainId" }));
}
