/**
 * What a lease will cost, what comes back when, and whether the pool would take it: pure functions of what the chain says.
 *
 * The same as the library's `_quote.py` and `_bill.py`, to the unit; `tests/vectors/renting.json` holds both to it.
 */
import { formatDuration, formatShare, type Money, show } from "../format";
import { Problem } from "../problem";
import { cellsOf } from "./leases";
import { fits, validShare } from "./placing";
import { type Funds, type Lease, LeaseState, type Machine, MachineStatus, type Params } from "./types";

export const CELL_SECONDS_PER_GPU_HOUR = 28_800n;
const BPS = 10_000n;
const DAY = 86_400;

/** What a renter wants of a machine. `share` in cells, `duration` in seconds. */
export interface Wish {
  readonly share: number;
  readonly duration: number;
  readonly allowUnverified: boolean;
  /** At the lower price of a lease that the provider may end with notice, for nothing. */
  readonly spot: boolean;
}

/** What opening a lease takes and what comes back. `pulled`: from the wallet; `approve`: what of that needs leave. */
export interface Quote {
  readonly machine: number;
  readonly revision: number;
  readonly share: number;
  readonly duration: number;
  readonly price: bigint;
  readonly hourly: bigint;
  readonly deposit: bigint;
  readonly fromLedger: bigint;
  readonly pulled: bigint;
  readonly approve: bigint;
  readonly feeBps: number;
  readonly trial: number;
  readonly startWindow: number;
  readonly holdFeePerHour: bigint;
  readonly holdFeeAtMost: bigint;
  readonly notice: number;
  readonly penaltyAtMost: bigint;
  readonly allowUnverified: boolean;
  readonly spot: boolean;
}

/** Token units for `cells` at `price` per GPU-hour over `seconds`. Escrow rounds up, what accrues rounds down. */
export function cost(price: bigint, cells: number, seconds: number, up = false): bigint {
  const cellSeconds = price * BigInt(cells) * BigInt(seconds);
  return (cellSeconds + (up ? CELL_SECONDS_PER_GPU_HOUR - 1n : 0n)) / CELL_SECONDS_PER_GPU_HOUR;
}

/** The quote for `wish` on `machine` under `params`, the version that the machine has accepted. */
export function quote(machine: Machine, params: Params, wish: Wish, funds: Funds): Quote {
  const price = wish.spot ? machine.terms.spotPrice : machine.terms.price;
  const deposit = cost(price, wish.share, wish.duration, true);
  const fromLedger = least(funds.ledger, deposit);
  const pulled = deposit - fromLedger;
  const hourly = cost(price, wish.share, 3_600, true);
  const holdTime = Math.min(Math.max(params.startWindow, machine.terms.trial), wish.duration);
  const holdFee = BigInt(params.holdFeeBps);
  return {
    machine: machine.id,
    revision: machine.revision,
    share: wish.share,
    duration: wish.duration,
    price,
    hourly,
    deposit,
    fromLedger,
    pulled,
    approve: pulled > funds.allowance ? pulled - funds.allowance : 0n,
    feeBps: params.feeBps,
    trial: machine.terms.trial,
    startWindow: params.startWindow,
    holdFeePerHour: (hourly * holdFee) / BPS,
    holdFeeAtMost: (cost(price, wish.share, holdTime) * holdFee) / BPS,
    notice: params.noticeSeconds,
    penaltyAtMost: wish.spot ? 0n : cost(price, wish.share, Math.min(params.penaltySeconds, wish.duration)),
    allowUnverified: wish.allowUnverified,
    spot: wish.spot,
  };
}

/** When something comes back, and how much: rows for people. */
export function refunds(offer: Quote, money: Money): readonly (readonly [when: string, what: string])[] {
  const held = `all but ${show(offer.holdFeePerHour, money)} per hour held, at most ${show(offer.holdFeeAtMost, money)}`;
  return [
    [`Not started within ${formatDuration(offer.startWindow)}, or declined`, "all of it"],
    ["Closed by you before that", held],
    [`Rejected within ${formatDuration(offer.trial)} of the start`, offer.trial ? held : "there is no trial"],
    ["Closed early", `what is unused: you pay ${show(offer.hourly, money)} per hour, by the second`],
    [
      `Ended by the provider (${formatDuration(offer.notice)} notice)`,
      offer.spot ? "what is unused" : `what is unused, and up to ${show(offer.penaltyAtMost, money)} of penalty`,
    ],
  ];
}

/** Why the pool would refuse the lease as things stand, or null. `now` by the chain's head. */
export function obstacle(machine: Machine, currentParams: number, wish: Wish, now: number): Problem | null {
  const { id, terms } = machine;
  const closed: readonly (readonly [boolean, string])[] = [
    [machine.status === MachineStatus.none, "is not registered"],
    [machine.status === MachineStatus.retired, "has left the pool"],
    [machine.delisted, "is delisted"],
    [machine.underStaked, "has less stake than it needs"],
    [machine.stalled, "left a lease unstarted and has not recovered"],
    [machine.downSince > 0, "is down"],
    [machine.params !== currentParams, "has not accepted the pool's present rules"],
  ];
  const why = closed.find(([holds]) => holds);
  if (why) return refused("machine-closed", `Machine ${id} ${why[1]}.`, "Choose another machine.");
  if (machine.status === MachineStatus.unverified && !wish.allowUnverified) {
    return refused("nobody-measured", `Nobody has measured machine ${id}.`, "Accept that, or choose a verified one.");
  }
  if (wish.spot && terms.spotPrice === 0n) {
    return refused("no-spot-price", `Machine ${id} sells no spot leases.`, "Rent it at its full price.");
  }
  if (wish.duration < terms.minDuration || wish.duration > terms.maxDuration) {
    const span = `${formatDuration(terms.minDuration)} to ${formatDuration(terms.maxDuration)}`;
    return refused("duration-not-served", `Machine ${id} is leased for ${span}.`, "Choose a duration within that.");
  }
  const left = (terms.availableUntilDay + 1) * DAY - now;
  if (wish.duration > left) {
    return refused("leaving-too-soon", `Machine ${id} leaves in ${formatDuration(left)}.`, "Rent for less time.");
  }
  if (!validShare(wish.share, machine.gpus) || wish.share < machine.smallestShare) {
    return refused(
      "share-not-sold",
      `Machine ${id} does not lease ${formatShare(wish.share)}.`,
      "Choose another share.",
    );
  }
  if (!fits(machine.busy, machine.gpus, wish.share)) {
    return refused(
      "share-taken",
      `Machine ${id} has no ${formatShare(wish.share)} free now.`,
      "Choose a smaller share.",
    );
  }
  return null;
}

function refused(code: string, problem: string, advice: string): Problem {
  return new Problem(code, problem, advice);
}

/** What `seconds` more take into escrow: the escrow up to the new end, less what is there. */
export function extensionCost(lease: Lease, seconds: number): bigint {
  const since = lease.segmentStart || lease.start;
  const whole = lease.segmentSettled + cost(lease.price, cellsOf(lease.placement), lease.end + seconds - since, true);
  return whole > lease.deposit ? whole - lease.deposit : 0n;
}

/** Where a lease's deposit stands: taken and given back if its tenant closed it at `now`. */
export interface Bill {
  readonly used: bigint;
  readonly unused: bigint;
  readonly left: number;
}

/** What closing at `now` would cost. `downSince`: when the machine's outage began, or 0; the bill stops there. */
export function bill(lease: Lease, now: number, params: Params, downSince = 0): Bill {
  const stop = Math.max(lease.start, Math.min(now, lease.end, downSince || lease.end));
  if (lease.state === LeaseState.opened) {
    const late = now > lease.start + params.startWindow;
    const used = late ? 0n : (accrued(lease, stop) * BigInt(params.holdFeeBps)) / BPS;
    return { used, unused: lease.deposit - used, left: lease.end - lease.start };
  }
  if (lease.state !== LeaseState.active) return { used: lease.settled, unused: 0n, left: 0 };
  const used = accrued(lease, stop);
  return { used, unused: lease.deposit - used, left: Math.max(0, lease.end - now) };
}

/** What has come to be owed until then, of which at most the deposit is. */
export function accrued(lease: Lease, until: number): bigint {
  const since = (lease.segmentStart || lease.start) + lease.paused;
  const owed = lease.segmentSettled + cost(lease.price, cellsOf(lease.placement), Math.max(0, until - since));
  const billed = least(lease.settled, owed) === owed ? lease.settled : owed;
  return least(lease.deposit, billed);
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
