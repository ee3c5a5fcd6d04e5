/** The reader's wallet: found, connected, on the right network; and what it is asked to do, in words. */
export { ConnectWallet } from "./ConnectWallet";
export { type AnnouncedWallet, discover } from "./discovery";
export { PoolProblem } from "./PoolProblem";
export { SwappedPool } from "./SwappedPool";
export { type Network, type WalletState, WalletStore } from "./store";
export { type Doing, DoingView, type Tell, useDoing } from "./useDoing";
export { type PoolChain, textSigner, typedDataSigner, usePoolChain } from "./usePoolChain";
export { useWallet, wallets } from "./useWallet";
export { WalletInHeader } from "./WalletInHeader";
export { type Account, WithWallet } from "./WithWallet";
