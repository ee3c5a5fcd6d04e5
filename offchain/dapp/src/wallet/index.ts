/** The reader's wallet: found, connected, on the right network. */
export { discover, type AnnouncedWallet } from "./discovery";
export { WalletStore, type Network, type WalletState } from "./store";
