/** What the browser asks the pool for, each with what it does in words: the wallet's own window then says nothing new. */
import { type Address, encodeFunctionData, type Hex, zeroHash } from "viem";
import { exact, formatDuration, formatRounded, formatShare, type Money } from "../format";
import { controllerAbi } from "./generated/abi";
import { formatLease } from "./leases";
import type { Quote } from "./quote";
import { tokenAbi } from "./token";
import type { Pool } from "./types";

/** A transaction before it is signed. `words`: what it does, as a sentence. */
export interface Deed {
  readonly words: string;
  readonly to: Address;
  readonly data: Hex;
}

/** Opens the lease, and first takes the tokens by a permit where one was signed: one transaction, all of it or nothing. */
export function openDeed(pool: Pool, offer: Quote, workload: Hex, permit: Hex | null): Deed {
  const open = encodeFunctionData({
    abi: controllerAbi,
    functionName: "open",
    args: [
      {
        machine: offer.machine,
        revision: offer.revision,
        share: offer.share,
        placement: 0,
        duration: offer.duration,
        maxPrice: offer.price,
        spot: offer.spot,
        allowUnverified: offer.allowUnverified,
        workload,
        settle: [],
        reuse: 0n,
        backup: zeroHash,
      },
    ],
  });
  const taken = exact(offer.deposit, pool.money);
  const words = `Rent ${formatShare(offer.share)} of machine ${offer.machine} for ${formatDuration(offer.duration)}: ${taken} go into escrow.`;
  return { words, to: pool.controller, data: together(permit, open) };
}

/** Moves the lease's end. */
export function extendDeed(pool: Pool, lease: bigint, seconds: number, amount: bigint, permit: Hex | null): Deed {
  const extend = encodeFunctionData({ abi: controllerAbi, functionName: "extend", args: [lease, seconds] });
  const words = `Extend lease ${formatLease(lease)} by ${formatDuration(seconds)}: ${exact(amount, pool.money)} more go into escrow.`;
  return { words, to: pool.controller, data: together(permit, extend) };
}

/** Ends the lease and pays what it came to. */
export function closeDeed(pool: Pool, lease: bigint, back: bigint): Deed {
  const data = encodeFunctionData({ abi: controllerAbi, functionName: "close", args: [lease] });
  const words = `Close lease ${formatLease(lease)}: about ${formatRounded(back, pool.money.decimals)} ${pool.money.symbol} come back into your ledger.`;
  return { words, to: pool.controller, data };
}

/** Puts tokens into the ledger: by the permit, which does it all, where one was signed. */
export function depositDeed(pool: Pool, account: Address, amount: bigint, permit: Hex | null): Deed {
  const data = permit ?? encodeFunctionData({ abi: controllerAbi, functionName: "deposit", args: [account, amount] });
  return { words: `Pay ${exact(amount, pool.money)} from your wallet into your ledger.`, to: pool.controller, data };
}

/** Takes tokens out of the ledger into the wallet. */
export function withdrawDeed(pool: Pool, account: Address, amount: bigint): Deed {
  const data = encodeFunctionData({ abi: controllerAbi, functionName: "withdraw", args: [account, amount] });
  return { words: `Withdraw ${exact(amount, pool.money)} from your ledger to your wallet.`, to: pool.controller, data };
}

/** Lets the pool take so much from the wallet: for tokens that take no permit. */
export function approveDeed(pool: Pool, amount: bigint): Deed {
  const data = encodeFunctionData({ abi: tokenAbi, functionName: "approve", args: [pool.controller, amount] });
  return { words: approval(amount, pool.money), to: pool.token, data };
}

export function approval(amount: bigint, money: Money): string {
  return `Let the pool take up to ${exact(amount, money)} from your wallet.`;
}

/** The call, behind the one that takes tokens by a permit where one was signed. */
export function together(permit: Hex | null, call: Hex): Hex {
  if (permit === null) return call;
  return encodeFunctionData({ abi: controllerAbi, functionName: "multicall", args: [[permit, call]] });
}
