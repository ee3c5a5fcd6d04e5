/** What a provider can collect, and when: pure functions of what the chain says, as the library's `_earning.py` has them. */
import { accrued } from "./quote";
import { type Lease, LeaseState, type OwnMachine, type ProviderRules } from "./types";

const BPS = 10_000n;

/** What `claim` would settle of the lease now, before the pool's fee. `now`: by the chain's head. */
export function claimable(lease: Lease, rules: ProviderRules, machine: OwnMachine, now: number): bigint {
  if (lease.state !== LeaseState.active || now <= lease.start + machine.terms.trial) return 0n;
  let until = Math.min(now - rules.claimLag, lease.end);
  if (machine.downSince) until = Math.min(until, machine.downSince);
  if (holds(machine, lease, now)) until = Math.min(until, machine.heldFrom);
  const due = accrued(lease, until) - lease.settled;
  return due > 0n ? due : 0n;
}

/** Whether some of the time that the lease ran is held for its tenant by an outage that is over. */
function holds(machine: OwnMachine, lease: Lease, now: number): boolean {
  if (now >= machine.heldUntil) return false;
  const since = lease.segmentStart || lease.start;
  const to = Math.min(machine.heldTo, machine.downSince || Number.POSITIVE_INFINITY, lease.end);
  return since < to && machine.heldFrom < to;
}

/** What the provider keeps of a bill. */
export function net(settled: bigint, feeBps: number): bigint {
  return settled - (settled * BigInt(feeBps)) / BPS;
}

/** When a retired machine's stake can leave; `null` before it retires. */
export function unstakableAt(machine: OwnMachine, rules: ProviderRules): number | null {
  return machine.retiredAt ? machine.retiredAt + rules.unstakeDelay : null;
}
