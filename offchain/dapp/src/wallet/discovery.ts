/**
 * Wallets that announce themselves by EIP-6963, and the old `window.ethereum` where none does.
 *
 * A wallet's name and icon are its own word: they are shown as text and as an image, and nothing is decided by them.
 */
import type { EIP1193Provider } from "viem";

export interface WalletInfo {
  readonly uuid: string;
  readonly name: string;
  readonly icon: string;
  readonly rdns: string;
}

export interface AnnouncedWallet {
  readonly info: WalletInfo;
  readonly provider: EIP1193Provider;
}

const OLD: Omit<WalletInfo, "uuid"> = { name: "This browser's wallet", icon: "", rdns: "window.ethereum" };

/** Calls `found` with every wallet that there is, as it announces itself. Returns what ends that. */
export function discover(target: Window, found: (wallet: AnnouncedWallet) => void): () => void {
  let any = false;
  const announced = (event: Event) => {
    const wallet = (event as CustomEvent<unknown>).detail;
    if (!isWallet(wallet)) return;
    any = true;
    found(wallet);
  };
  target.addEventListener("eip6963:announceProvider", announced);
  target.dispatchEvent(new Event("eip6963:requestProvider"));
  const old = (target as { ethereum?: unknown }).ethereum;
  if (!any && isProvider(old)) found({ info: { uuid: OLD.rdns, ...OLD }, provider: old });
  return () => target.removeEventListener("eip6963:announceProvider", announced);
}

function isWallet(value: unknown): value is AnnouncedWallet {
  const { info, provider } = (value ?? {}) as Partial<AnnouncedWallet>;
  const texts = [info?.uuid, info?.name, info?.rdns];
  return texts.every((text) => typeof text === "string" && text.length < 256) && isProvider(provider);
}

function isProvider(value: unknown): value is EIP1193Provider {
  return typeof (value as { request?: unknown } | undefined)?.request === "function";
}
