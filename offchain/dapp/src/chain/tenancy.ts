/** What a tenant asks of a lease beside opening, extending and closing it: another share, a challenge, a rating, a delegate. */
import { type Address, encodeFunctionData, type Hex, type PublicClient, parseAbi, zeroHash } from "viem";
import { exact, formatAbsolute, formatShare } from "../format";
import type { Deed } from "./deeds";
import { controllerAbi } from "./generated/abi";
import { cellsOf, formatLease } from "./leases";
import { fits, validShare } from "./placing";
import { readCompanions } from "./pool";
import { accrued, cost } from "./quote";
import type { Lease, Machine, Pool } from "./types";

const poolAbi = parseAbi([
  "function accounts() view returns (address)",
  "function resize(uint256 lease, uint8 share, uint16 placement)",
]);
const faultsAbi = parseAbi([
  "function bondOf(uint32 machine, address challenger) view returns (uint96)",
  "function challengeOf(uint32 machine) view returns ((address challenger, uint96 bond, uint32 at, uint256 id))",
  "function challenge(uint32 machine, uint256 lease) returns (uint256)",
  "function prove(uint32 machine) returns (uint256)",
]);
const reputationAbi = parseAbi([
  "function rate(uint256 lease, uint8 stars, bytes32 comment)",
  "function isRated(uint256 lease) view returns (bool)",
]);
const accountsAbi = parseAbi([
  "function setDelegate(address pool, address delegate, uint96 cap, uint32 period, uint40 expiry)",
  "function delegationOf(address account, address pool, address delegate) view returns ((uint96 cap, uint32 period, uint40 expiry, uint40 since, uint96 spent))",
]);

// ------------------------------------------------------------------------------------------------------- resizing

/** What another share costs from now on. The source is the library's `market/_moving.py`. Amounts in token units. */
export interface Resizing {
  readonly share: number;
  readonly pays: bigint;
  readonly charged: bigint;
  readonly refunded: bigint;
  readonly hourlyBefore: bigint;
  readonly hourly: bigint;
}

export function resizing(lease: Lease, share: number, now: number): Resizing {
  const total = accrued(lease, now);
  const deposit = total + cost(lease.price, share, lease.end - now, true);
  return {
    share,
    pays: total - lease.settled,
    charged: deposit > lease.deposit ? deposit - lease.deposit : 0n,
    refunded: deposit < lease.deposit ? lease.deposit - deposit : 0n,
    hourlyBefore: cost(lease.price, cellsOf(lease.placement), 3_600, true),
    hourly: cost(lease.price, share, 3_600, true),
  };
}

/** The shares that the lease could have instead, in cells. */
export function otherShares(lease: Lease, machine: Machine): number[] {
  const others = machine.busy & ~cellsIn(lease.placement);
  const whole = Array.from({ length: machine.gpus }, (_, gpu) => 8 * (gpu + 1));
  return [1, 2, 4, ...whole].filter(
    (cells) =>
      cells >= machine.smallestShare &&
      cells !== cellsOf(lease.placement) &&
      validShare(cells, machine.gpus) &&
      fits(others, machine.gpus, cells),
  );
}

/** A placement's cells, bit `8 × gpu + cell`. */
function cellsIn(placement: number): bigint {
  let cells = 0n;
  for (let gpu = 0; gpu < 8; gpu += 1) {
    if ((placement >> (8 + gpu)) & 1) cells |= BigInt(placement & 0xff) << BigInt(8 * gpu);
  }
  return cells;
}

/** A lease's share, from the block on that has it. */
export function resizeDeed(pool: Pool, lease: bigint, change: Resizing, permit: Hex | null): Deed {
  const call = encodeFunctionData({ abi: poolAbi, functionName: "resize", args: [lease, change.share, 0] });
  const moves = change.charged
    ? `about ${exact(change.charged, pool.money)} more go into escrow`
    : `about ${exact(change.refunded, pool.money)} come back into your ledger`;
  const words = `Give lease ${formatLease(lease)} ${formatShare(change.share)} from now on: ${moves}.`;
  const data = permit
    ? encodeFunctionData({ abi: controllerAbi, functionName: "multicall", args: [[permit, call]] })
    : call;
  return { words, to: pool.controller, data };
}

// ------------------------------------------------------------------------------------------------------ challenges

/** How a challenge of the machine stands. `at`: unix seconds, 0 where there is none. */
export interface Challenging {
  readonly faults: Address;
  readonly bond: bigint;
  readonly at: number;
  readonly challenger: Address;
}

export async function readChallenging(
  chain: PublicClient,
  pool: Pool,
  machine: number,
  account: Address,
): Promise<Challenging> {
  const { faults } = await readCompanions(chain, pool);
  const [bond, standing] = await Promise.all([
    chain.readContract({ address: faults, abi: faultsAbi, functionName: "bondOf", args: [machine, account] }),
    chain.readContract({ address: faults, abi: faultsAbi, functionName: "challengeOf", args: [machine] }),
  ]);
  return { faults, bond, at: standing.at, challenger: standing.challenger };
}

/** Puts a bond at stake, out of the ledger. */
export function challengeDeed(pool: Pool, faults: Address, machine: number, lease: bigint, bond: bigint): Deed {
  const data = encodeFunctionData({ abi: faultsAbi, functionName: "challenge", args: [machine, lease] });
  return { words: `Challenge machine ${machine}: ${exact(bond, pool.money)} are at stake.`, to: faults, data };
}

export function proveDeed(faults: Address, machine: number): Deed {
  const data = encodeFunctionData({ abi: faultsAbi, functionName: "prove", args: [machine] });
  return { words: `Say that nobody answered for machine ${machine}: the bond comes back.`, to: faults, data };
}

// --------------------------------------------------------------------------------------------------------- ratings

export async function readRated(chain: PublicClient, pool: Pool, lease: bigint) {
  const { reputation: address } = await readCompanions(chain, pool);
  const rated = await chain.readContract({ address, abi: reputationAbi, functionName: "isRated", args: [lease] });
  return { reputation: address, rated };
}

export function rateDeed(reputation: Address, lease: bigint, stars: number): Deed {
  const data = encodeFunctionData({ abi: reputationAbi, functionName: "rate", args: [lease, stars, zeroHash] });
  const words = `Give lease ${formatLease(lease)}'s provider ${stars} of 5 stars, for everybody to see and for good.`;
  return { words, to: reputation, data };
}

// ------------------------------------------------------------------------------------------------------- delegates

/** What somebody may spend of the account's ledger in this pool. `expiry`: unix seconds; `since` 0: nothing. */
export interface Delegation {
  readonly cap: bigint;
  readonly spent: bigint;
  readonly expiry: number;
  readonly since: number;
}

export async function readDelegation(
  chain: PublicClient,
  pool: Pool,
  account: Address,
  delegate: Address,
): Promise<Delegation & { readonly accounts: Address }> {
  const accounts = await chain.readContract({ address: pool.controller, abi: poolAbi, functionName: "accounts" });
  const args = [account, pool.controller, delegate] as const;
  const standing = await chain.readContract({
    address: accounts,
    abi: accountsAbi,
    functionName: "delegationOf",
    args,
  });
  return { accounts, ...standing };
}

/** Lets `delegate` spend up to `cap` of the account's ledger until `expiry`, altogether; 0 and 0 end it. */
export function delegateDeed(pool: Pool, accounts: Address, delegate: Address, cap: bigint, expiry: number): Deed {
  const args = [pool.controller, delegate, cap, 0, expiry] as const;
  const data = encodeFunctionData({ abi: accountsAbi, functionName: "setDelegate", args });
  const words = cap
    ? `Let ${delegate} spend up to ${exact(cap, pool.money)} of your ledger in this pool, until ${formatAbsolute(expiry)}.`
    : `Let ${delegate} spend nothing of your ledger any more.`;
  return { words, to: accounts, data };
}
