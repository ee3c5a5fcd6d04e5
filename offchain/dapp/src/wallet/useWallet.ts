import { useSyncExternalStore } from "react";
import { type WalletState, WalletStore } from "./store";

/** The page's one wallet store. */
export const wallets = new WalletStore(window, localStorage);

/** Which wallets there are, and whose account is connected. */
export function useWallet(): WalletState {
  return useSyncExternalStore(wallets.subscribe, wallets.snapshot);
}
