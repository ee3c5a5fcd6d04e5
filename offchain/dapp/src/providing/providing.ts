/**
 * What a provider's wallet is asked for. Each looks at the chain once more before it asks, refuses where that says
 * something else than the page showed, and touches no machine but the account's own, whatever a gateway has named.
 */
import { type PublicClient, zeroAddress } from "viem";
import {
  appealDeed,
  claimable,
  claimDeed,
  type Deed,
  depositDeed,
  FaultState,
  formatLease,
  type JudgedFault,
  type Lease,
  LeaseState,
  listingDeed,
  MachineStatus,
  net,
  type OwnMachine,
  type Pool,
  type ProviderRules,
  readCompanions,
  readFault,
  readFunds,
  readHead,
  readLease,
  readOwnMachine,
  readParamsVersion,
  readProviderRules,
  readRulesToCome,
  retireDeed,
  send,
  stakeDeed,
  type Terms,
  termsDeed,
  termsObstacle,
  unstakableAt,
  unstakeDeed,
} from "../chain";
import { exact, formatAbsolute, formatDuration } from "../format";
import { Problem } from "../problem";
import { leave, type PayingHands } from "../renting";

/** Terms beside what they were made from: the machine as it was shown, and the version of the rules they accept. */
export interface ShownTerms {
  readonly machine: OwnMachine;
  readonly terms: Terms;
  readonly accepts: number;
}

/** Seconds within which a transaction is surely mined: whoever signs accepts the rules that are in force then. */
const MINED_WITHIN = 1_800;

/** Sets the terms that were shown. Throws a Problem where the machine's, or the rules that they accept, are others now. */
export async function setTerms(hands: PayingHands, shown: ShownTerms): Promise<void> {
  const { chain, pool, sender } = hands;
  const [machine, version, head] = await Promise.all([
    readOwnMachine(chain, pool, shown.machine.id, sender.account),
    readParamsVersion(chain, pool),
    readHead(chain),
  ]);
  const problem = termsObstacle(shown.terms, head.time) ?? retiredAlready(machine);
  if (problem) throw problem;
  if (machine.revision !== shown.machine.revision || version !== shown.accepts) {
    throw changed(`The terms of machine ${machine.id}, or the pool's rules, are others now than were shown.`);
  }
  const others = await readRulesToCome(chain, pool, head.time);
  if (others !== null && others <= head.time + MINED_WITHIN) {
    throw new Problem(
      "rules-change-soon",
      `The pool's rules change ${formatAbsolute(others)}: new terms would accept what is in force when they are mined.`,
      "Read the new rules on the pool's page, and set the terms once they are in force.",
    );
  }
  await sent(hands, termsDeed(pool, machine, shown.terms));
}

/** Takes a machine out of sale, or puts it back. */
export async function changeListing(hands: PayingHands, id: number, listed: boolean): Promise<void> {
  const machine = await readOwnMachine(hands.chain, hands.pool, id, hands.sender.account);
  const problem = retiredAlready(machine);
  if (problem) throw problem;
  await sent(hands, listingDeed(hands.pool, id, listed));
}

/** A lease that pays: what `claim` settles of it, and what of that the provider keeps, in token units. */
export interface ClaimableLease {
  readonly lease: Lease;
  readonly settles: bigint;
  readonly keeps: bigint;
}

/** Of these leases those that pay now, by the chain's word. Leases of others' machines are left out. */
export async function claimableOf(
  chain: PublicClient,
  pool: Pool,
  account: `0x${string}`,
  leases: readonly bigint[],
): Promise<readonly ClaimableLease[]> {
  const head = await readHead(chain);
  const known = (await Promise.all(leases.map((id) => readLease(chain, pool, id)))).filter(
    (lease) => lease.state === LeaseState.active,
  );
  const machines = new Map<number, OwnMachine | null>();
  const rules = new Map<number, ProviderRules>();
  for (const { machine, params } of known) {
    if (!machines.has(machine)) {
      const own = await readOwnMachine(chain, pool, machine, account).catch((error: unknown) => {
        if (error instanceof Problem) return null;
        throw error;
      });
      machines.set(machine, own);
    }
    if (!rules.has(params)) rules.set(params, await readProviderRules(chain, pool, params));
  }
  return known.flatMap((lease) => {
    const [machine, judged] = [machines.get(lease.machine), rules.get(lease.params)];
    if (!machine || !judged) return [];
    const settles = claimable(lease, judged, machine, head.time);
    return settles > 0n ? [{ lease, settles, keeps: net(settles, judged.feeBps) }] : [];
  });
}

/** Claims what these leases have brought by now: no less than was shown. */
export async function claim(hands: PayingHands, shown: readonly ClaimableLease[]): Promise<void> {
  const { chain, pool, sender } = hands;
  const ids = shown.map(({ lease }) => lease.id);
  const due = await claimableOf(chain, pool, sender.account, ids);
  const about = due.reduce((sum, { keeps }) => sum + keeps, 0n);
  if (about === 0n) {
    const named = ids.map(formatLease).join(", ");
    throw new Problem("nothing-to-claim", `Nothing can be claimed of ${named} now.`, "Look again in a moment.");
  }
  const one = due.map(({ lease }) => lease.id);
  await sent(hands, claimDeed(pool, one, about));
}

/** Adds to what is at stake: out of the ledger first, and out of the wallet by a permit. */
export async function addStake(hands: PayingHands, id: number, amount: bigint): Promise<void> {
  const { chain, pool, sender } = hands;
  const [machine, funds] = await Promise.all([
    readOwnMachine(chain, pool, id, sender.account),
    readFunds(chain, pool, sender.account),
  ]);
  const problem = retiredAlready(machine);
  if (problem) throw problem;
  const permit = await pulled(hands, amount, funds);
  await sent(hands, stakeDeed(pool, id, amount, permit));
}

/** Retires a machine for good. `delay`: seconds after which its stake can leave, as was shown. */
export async function retire(hands: PayingHands, id: number, delay: number): Promise<void> {
  const { chain, pool, sender } = hands;
  const machine = await readOwnMachine(chain, pool, id, sender.account);
  const rules = await readProviderRules(chain, pool, machine.params);
  const problem = retiredAlready(machine);
  if (problem) throw problem;
  if (machine.leased !== 0n) {
    throw new Problem(
      "machine-busy",
      `Machine ${id} is leased.`,
      "Take it out of sale, and retire it when it is empty.",
    );
  }
  if (rules.unstakeDelay !== delay) throw changed("The delay after which the stake can leave is another one now.");
  await sent(hands, retireDeed(pool, id, delay));
}

/** Takes a retired machine's stake into the ledger. */
export async function takeStake(hands: PayingHands, id: number): Promise<void> {
  const { chain, pool, sender } = hands;
  const machine = await readOwnMachine(chain, pool, id, sender.account);
  const [rules, head] = await Promise.all([readProviderRules(chain, pool, machine.params), readHead(chain)]);
  const problem = unstakeObstacle(machine, rules, head.time);
  if (problem) throw problem;
  await sent(hands, unstakeDeed(pool, machine));
}

/** Why a machine's stake cannot leave now, or null. */
export function unstakeObstacle(machine: OwnMachine, rules: ProviderRules, now: number): Problem | null {
  const at = unstakableAt(machine, rules);
  if (at === null) return new Problem("not-retired", `Machine ${machine.id} is in service.`, "Retire it first.");
  if (now < at) {
    const left = formatDuration(at - now);
    return new Problem("stake-locked", `The stake of machine ${machine.id} can leave in ${left}.`, "Wait until then.");
  }
  if (machine.pendingSlashes > 0) {
    const problem = `A fault of machine ${machine.id} is not settled yet.`;
    return new Problem("slash-pending", problem, "Its stake can leave after that.");
  }
  return machine.stake > 0n ? null : new Problem("no-stake", `Machine ${machine.id} has nothing at stake.`, "");
}

/** Why a fault cannot be appealed now, or null. `rules`: those that judge it. */
export function appealObstacle(fault: JudgedFault, rules: ProviderRules, now: number): Problem | null {
  if (fault.state !== FaultState.filed) {
    return new Problem("wrong-fault-state", `Fault ${fault.id} cannot be appealed any more.`, "Look at how it stands.");
  }
  if (rules.arbiter === zeroAddress) {
    return new Problem("nobody-rules", `The rules that judge fault ${fault.id} name no arbiter.`, "It stands.");
  }
  if (now > fault.deadline) {
    const problem = `Fault ${fault.id} could be appealed until ${formatAbsolute(fault.deadline)}.`;
    return new Problem("appeal-over", problem, "It stands.");
  }
  return null;
}

/** Appeals a fault with the bond that was shown, which is put into the ledger first where it lacks there. */
export async function appeal(hands: PayingHands, shown: JudgedFault, bond: bigint): Promise<void> {
  const { chain, pool, sender } = hands;
  const [fault, head] = await Promise.all([readFault(chain, pool, shown.id), readHead(chain)]);
  await readOwnMachine(chain, pool, fault.machine, sender.account);
  const rules = await readProviderRules(chain, pool, fault.rules);
  const problem = appealObstacle(fault, rules, head.time);
  if (problem) throw problem;
  if (rules.bond !== bond || fault.amount !== shown.amount || fault.machine !== shown.machine) {
    throw changed(`Fault ${fault.id} is another one now than was shown.`);
  }
  const [{ faults }, funds] = await Promise.all([readCompanions(chain, pool), readFunds(chain, pool, sender.account)]);
  if (funds.ledger < bond) {
    const lacks = bond - funds.ledger;
    const permit = await pulled(hands, lacks, { ...funds, ledger: 0n });
    await sent(hands, depositDeed(pool, sender.account, lacks, permit));
  }
  await sent(hands, appealDeed(pool, faults, fault, bond));
}

/** Leave for the pool to take what the ledger lacks of an amount. Throws a Problem where the wallet has not so much. */
async function pulled(
  hands: PayingHands,
  amount: bigint,
  funds: { ledger: bigint; wallet: bigint; allowance: bigint },
) {
  const lacks = amount > funds.ledger ? amount - funds.ledger : 0n;
  if (lacks > funds.wallet) {
    const missing = exact(lacks - funds.wallet, hands.pool.money);
    throw new Problem("not-enough-funds", `Your wallet is ${missing} short.`, "Get more of it, or take less.");
  }
  return await leave(hands, lacks, lacks > funds.allowance ? lacks - funds.allowance : 0n);
}

async function sent(hands: PayingHands, deed: Deed): Promise<void> {
  await send(deed, hands.sender, hands.chain, (stage) => hands.tell(deed.words, stage), hands.pool.money);
}

function retiredAlready(machine: OwnMachine): Problem | null {
  if (machine.status !== MachineStatus.retired) return null;
  return new Problem("machine-retired", `Machine ${machine.id} has left the pool for good.`, "");
}

function changed(problem: string): Problem {
  return new Problem("changed-meanwhile", problem, "Look at it again: nothing was signed.");
}
