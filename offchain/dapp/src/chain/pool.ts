/**
 * Which pool this is, by the chain and by what this browser was told before: the gateway's word is only where to look.
 *
 * A gateway that names another controller or another token than yesterday is refused; one that names a controller which is
 * no clone of this pool's kind, or whose token is another one, is refused the first time.
 */
import { type Address, getAddress, type Hex, isAddress, isAddressEqual, type PublicClient, size, slice } from "viem";
import { Problem } from "../problem";
import { tokenAbi } from "./token";
import type { Pool } from "./types";

/** What a gateway says of a pool: an address book entry, nothing that is believed. */
export interface ClaimedPool {
  readonly chainId: number;
  readonly controller: Address;
  readonly token: Address;
  readonly block: bigint;
}

const HEAD = "0x363d3d373d3d3d363d73";
const TAIL = "0x5af43d82803e903d91602b57fd5bf3";
const HEAD_BYTES = 10;
const TAIL_BYTES = 15;
const ARGUMENTS = HEAD_BYTES + 20 + TAIL_BYTES;
const PARTS = 5;

/** The pool as the chain has it. Throws a Problem where it is not what was claimed. */
export async function readPool(chain: PublicClient, claimed: ClaimedPool): Promise<Pool> {
  const chainId = await chain.getChainId();
  if (chainId !== claimed.chainId) {
    throw new Problem(
      "wrong-network",
      `Your wallet is on network ${chainId}, and the pool on ${claimed.chainId}.`,
      "Switch the network in your wallet.",
    );
  }
  const code = await chain.getCode({ address: claimed.controller });
  const token = tokenInCode(code, claimed.controller);
  if (!isAddressEqual(token, claimed.token)) {
    throw new Problem(
      "token-swapped",
      `The gateway says that the pool is paid in ${claimed.token}; on the chain it is ${token}.`,
      "Use another gateway: nothing was signed.",
    );
  }
  const [symbol, decimals] = await Promise.all([
    chain.readContract({ address: token, abi: tokenAbi, functionName: "symbol" }),
    chain.readContract({ address: token, abi: tokenAbi, functionName: "decimals" }),
  ]);
  return {
    chainId,
    controller: getAddress(claimed.controller),
    token,
    block: claimed.block,
    money: { symbol, decimals },
  };
}

/** The token that a pool's code holds for ever: a clone's first argument. Throws a Problem for other code. */
export function tokenInCode(code: Hex | undefined, controller: Address): Address {
  return cloneOf(code, PARTS, `At ${controller} there is no pool of this kind.`).held[0] as Address;
}

/** What a clone with arguments says of itself: whose code it runs, and the addresses that it holds for ever. */
export interface Clone {
  readonly implementation: Address;
  readonly held: readonly Address[];
}

/** A clone that holds so many addresses. Throws a Problem with `refusal` for other code. */
export function cloneOf(code: Hex | undefined, holds: number, refusal: string): Clone {
  const clone =
    code !== undefined &&
    size(code) === ARGUMENTS + 20 * holds &&
    slice(code, 0, HEAD_BYTES) === HEAD &&
    slice(code, HEAD_BYTES + 20, ARGUMENTS) === TAIL;
  if (!clone) throw new Problem("no-pool", refusal, "Use another gateway.");
  const held = Array.from({ length: holds }, (_, place) =>
    getAddress(slice(code, ARGUMENTS + 20 * place, ARGUMENTS + 20 * (place + 1))),
  );
  return { implementation: getAddress(slice(code, HEAD_BYTES, HEAD_BYTES + 20)), held };
}

/** The pool's other contracts, which its code holds for ever behind its token. */
export interface Companions {
  readonly committee: Address;
  readonly faults: Address;
  readonly reputation: Address;
  readonly directory: Address;
}

export async function readCompanions(chain: PublicClient, pool: Pick<Pool, "controller">): Promise<Companions> {
  const code = await chain.getCode({ address: pool.controller });
  const { held } = cloneOf(code, PARTS, `At ${pool.controller} there is no pool of this kind.`);
  const [, committee, faults, reputation, directory] = held as [Address, Address, Address, Address, Address];
  return { committee, faults, reputation, directory };
}

/** What this browser remembers of pools: `localStorage`, or what stands in for it in tests. */
export type Memory = Pick<Storage, "getItem" | "setItem">;

const REMEMBERED = "leasehold.pool";
const SINCE = "leasehold.pool.since";

/** Whether a pool's contracts are those that this app was built with, as far as a wallet's own node has read them. */
export type PoolContracts = "unread" | "as built" | { readonly different: string };

/** The gateway names another pool than the one that this browser used before. */
export class PoolSwapped extends Problem {
  constructor(
    readonly before: ClaimedPool,
    readonly now: ClaimedPool,
    readonly contracts: PoolContracts = "unread",
  ) {
    super(
      "pool-swapped",
      "This gateway names another pool than the one that this browser used before.",
      "Use the gateway you know, or change to the other pool once you have compared its address.",
    );
  }
}

/**
 * Compares with the pool that was used before. Throws `PoolSwapped` where it is another.
 *
 * `note`: remember it where there is none yet; a pool that only the gateway vouches for is not remembered.
 */
export function checkRemembered(pool: Pool, memory: Memory, note: boolean): void {
  const before = rememberedPool(memory);
  if (before !== null && !isSame(before, pool)) throw new PoolSwapped(before, pool);
  if (note) rememberInstead(pool, memory);
}

/** Remembers a pool that the reader has compared, in place of any other. The next pool that is named is refused again. */
export function rememberInstead(pool: ClaimedPool, memory: Pick<Memory, "setItem">): void {
  memory.setItem(REMEMBERED, `${pool.chainId}:${pool.controller}:${pool.token}`);
  memory.setItem(SINCE, String(pool.block));
}

function isSame(one: ClaimedPool, other: ClaimedPool): boolean {
  return (
    one.chainId === other.chainId &&
    isAddressEqual(one.controller, other.controller) &&
    isAddressEqual(one.token, other.token)
  );
}

/** The pool that this browser used before, for where no gateway names one; null where there is none. */
export function rememberedPool(memory: Pick<Memory, "getItem">): ClaimedPool | null {
  const [chainId, controller, token] = memory.getItem(REMEMBERED)?.split(":") ?? [];
  if (!chainId || !isAddress(controller ?? "") || !isAddress(token ?? "")) return null;
  const since = memory.getItem(SINCE) ?? "0";
  const block = /^\d{1,18}$/.test(since) ? BigInt(since) : 0n;
  return { chainId: Number(chainId), controller: controller as Address, token: token as Address, block };
}
