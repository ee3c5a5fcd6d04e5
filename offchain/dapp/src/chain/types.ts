/** A pool, its machines and its leases as the chain has them. Amounts in token units, times in unix seconds. */
import type { Address, Hex } from "viem";

import type { Money } from "../format";

/** Which pool everything is checked against. `block`: where it was made. */
export interface Pool {
  readonly chainId: number;
  readonly controller: Address;
  readonly token: Address;
  readonly block: bigint;
  readonly money: Money;
}

export const MachineStatus = { none: 0, unverified: 1, verified: 2, retired: 3 } as const;
export const LeaseState = { none: 0, opened: 1, active: 2, ended: 3, cancelled: 4, rejected: 5 } as const;

/** Price and spot price per GPU-hour; durations in seconds. */
export interface Terms {
  readonly price: bigint;
  readonly spotPrice: bigint;
  readonly minDuration: number;
  readonly maxDuration: number;
  readonly trial: number;
  readonly availableUntilDay: number;
}

/** `busy` is leased and withheld cells together, bit `8 × gpu + cell`. */
export interface Machine {
  readonly id: number;
  readonly provider: Address;
  readonly operator: Address;
  readonly status: number;
  readonly delisted: boolean;
  readonly underStaked: boolean;
  readonly stalled: boolean;
  readonly gpus: number;
  readonly smallestShare: number;
  readonly revision: number;
  readonly params: number;
  readonly busy: bigint;
  readonly downSince: number;
  readonly terms: Terms;
}

/** Of a pool's rules, those that a renter's money goes by. */
export interface Params {
  readonly feeBps: number;
  readonly holdFeeBps: number;
  readonly startWindow: number;
  readonly noticeSeconds: number;
  readonly penaltySeconds: number;
}

/** While Opened, `start` is when it was opened and `end - start` its duration. */
export interface Lease {
  readonly id: bigint;
  readonly tenant: Address;
  readonly machine: number;
  readonly placement: number;
  readonly state: number;
  readonly spot: boolean;
  readonly noticed: boolean;
  readonly start: number;
  readonly end: number;
  readonly deposit: bigint;
  readonly price: bigint;
  readonly revision: number;
  readonly params: number;
  readonly settled: bigint;
  readonly paused: number;
  readonly segmentStart: number;
  readonly segmentSettled: bigint;
}

/** What an account can pay with: its ledger in the pool, its wallet, and what the pool may take of that. */
export interface Funds {
  readonly ledger: bigint;
  readonly wallet: bigint;
  readonly allowance: bigint;
}

/** Block `number` at `time`, by the node that was asked. */
export interface Head {
  readonly number: bigint;
  readonly time: number;
  readonly hash: Hex;
}

/** A machine as its provider sees it: what answers for it, and what of its time is disputed. */
export interface OwnMachine extends Machine {
  readonly stake: bigint;
  readonly leased: bigint;
  readonly retiredAt: number;
  readonly heldFrom: number;
  readonly heldTo: number;
  readonly heldUntil: number;
  readonly pendingSlashes: number;
}

/** Of a pool's rules, those that a provider's money goes by too. */
export interface ProviderRules extends Params {
  readonly minStakePerGpu: bigint;
  readonly maxSlashBps: number;
  readonly claimLag: number;
  readonly unstakeDelay: number;
  readonly appealWindow: number;
  readonly rulingWindow: number;
  readonly bond: bigint;
  readonly arbiter: Address;
}

export const FaultState = { running: 1, filed: 2, appealed: 3, upheld: 4, executed: 5, dropped: 6 } as const;

/** An outage, or another fault. `deadline`: until when it may be appealed while filed, and ruled on while appealed.
 * `rules`: the version that judges it. */
export interface JudgedFault {
  readonly id: number;
  readonly machine: number;
  readonly kind: number;
  readonly state: number;
  readonly from: number;
  readonly to: number;
  readonly deadline: number;
  readonly rules: number;
  readonly amount: bigint;
  readonly bond: bigint;
}
