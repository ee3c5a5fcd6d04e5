/**
 * Renting, in the order that makes a crash harmless: the workload is with the agent before any money moves, and `open` is
 * the only transaction. Everything that decides about money is read from the chain here, and nothing from the gateway.
 */
import type { Address, Hex, PublicClient } from "viem";

import { AgentClient, type AgentWay, type SessionKey } from "../agent";
import {
  approval,
  approveDeed,
  challengeDeed,
  type Deed,
  depositDeed,
  depositWithPermit,
  extendDeed,
  type GaslessStage,
  type Machine,
  obstacle,
  openDeed,
  openedIn,
  PERMIT_SECONDS,
  type Pool,
  permitOf,
  type Quote,
  quote,
  type Resizing,
  readChallenging,
  readFunds,
  readHead,
  readMachine,
  readParams,
  readParamsVersion,
  resizeDeed,
  type Sender,
  send,
  type Wish,
} from "../chain";
import { exact } from "../format";
import { Problem } from "../problem";
import { type FetchDocument, readContact, seal, sha256, type WorkloadFields } from "../sealing";

/** What a machine asks, and what the lease would cost there, by the chain's word alone. `problem`: why it is refused. */
export interface Offer {
  readonly machine: Machine;
  readonly quote: Quote;
  readonly problem: Problem | null;
}

/**
 * Reads the machine and quotes the wish. `account` null: nobody is connected, and nothing is in the ledger. `together`: it is
 * a group's or a Safe's, which pays from its ledger alone.
 */
export async function offerOf(
  chain: PublicClient,
  pool: Pool,
  id: number,
  wish: Wish,
  account: Address | null,
  together = false,
): Promise<Offer> {
  const nothing = { ledger: 0n, wallet: 0n, allowance: 0n };
  const [machine, current, head, read] = await Promise.all([
    readMachine(chain, pool, id),
    readParamsVersion(chain, pool),
    readHead(chain),
    account ? readFunds(chain, pool, account) : nothing,
  ]);
  const funds = together ? { ...nothing, ledger: read.ledger } : read;
  const offered = quote(machine, await readParams(chain, pool, machine.params || current), wish, funds);
  const short = account !== null && offered.pulled > funds.wallet;
  const problem =
    obstacle(machine, current, wish, head.time) ?? (short ? shortfall(pool, offered, funds.wallet, together) : null);
  return { machine, quote: offered, problem };
}

function shortfall(pool: Pool, offered: Quote, wallet: bigint, together: boolean): Problem {
  const missing = exact(offered.pulled - wallet, pool.money);
  if (together) {
    const advice = "Pay into it on the group's page, or rent for less time.";
    return new Problem("not-enough-funds", `The group's ledger is ${missing} short.`, advice);
  }
  return new Problem("not-enough-funds", `Your wallet is ${missing} short.`, "Get more of it, or rent for less time.");
}

/** What the wallet is asked to sign as typed data. */
export type Permit = NonNullable<Awaited<ReturnType<typeof permitOf>>>;

/** What paying takes. `tell` hears what happens, in words and stages. */
export interface PayingHands {
  readonly chain: PublicClient;
  readonly pool: Pool;
  readonly sender: Sender;
  readonly signTypedData: (message: Permit) => Promise<Hex>;
  readonly tell: (words: string, stage?: GaslessStage) => void;
}

/** And what renting takes beside: who has documents, and how a sealed workload comes to the machine's agent. */
export interface RentingHands extends PayingHands {
  readonly fetchDocument: FetchDocument;
  readonly courier: Courier;
}

/** A session with agents, and where the relay to them is. */
export interface ByAgent {
  readonly key: SessionKey;
  readonly url: AgentWay["url"];
}

/** Where an agent looks for what nobody has brought: a node of the renter's, who has no receipt then. */
export interface ByOwnNode {
  readonly leave: (sealed: Uint8Array) => Promise<void>;
}

export type Courier = ByAgent | ByOwnNode;

/**
 * Rents as the reader was shown: `shown` is the quote beside the button. Returns the lease.
 *
 * Throws a Problem, before anything is signed, where the chain now says another price or revision than was shown.
 */
export async function rent(hands: RentingHands, shown: Quote, workload: WorkloadFields): Promise<bigint> {
  const { chain, pool, sender } = hands;
  const { now, digest } = await handedOver(hands, shown, workload, null);
  const permit = await leave(hands, now.pulled, now.approve);
  const deed = openDeed(pool, now, digest, permit);
  const receipt = await send(deed, sender, chain, (stage) => hands.tell(deed.words, stage), pool.money);
  return openedIn(pool, receipt);
}

/**
 * Prepares what a group would rent: the workload is sealed for it and with the machine's agent. `heldUntil`: how long it is
 * held there, unix seconds; who opens the lease later finds no workload.
 *
 * Throws as `rent` does.
 */
export async function prepareTogether(
  hands: RentingHands,
  tenant: Address,
  shown: Quote,
  workload: WorkloadFields,
): Promise<{ readonly deed: Deed; readonly heldUntil: number }> {
  const { now, digest, heldUntil } = await handedOver(hands, shown, workload, tenant);
  return { deed: openDeed(hands.pool, now, digest, null), heldUntil };
}

/** The quote as it still is, and the workload where it is to run. `together`: the group whose workload it is, if it is one's. */
async function handedOver(hands: RentingHands, shown: Quote, workload: WorkloadFields, together: Address | null) {
  const { chain, pool, sender } = hands;
  const { share, duration, allowUnverified, spot } = shown;
  const wish = { share, duration, allowUnverified, spot };
  const tenant = together ?? sender.account;
  const now = await offerOf(chain, pool, shown.machine, wish, tenant, together !== null);
  if (now.problem) throw now.problem;
  checkUnchanged(shown, now.quote);
  hands.tell("Sealing the workload to the machine's key");
  const contact = await readContact(chain, pool, shown.machine, hands.fetchDocument);
  const sealed = await seal({ ...workload, tenant }, contact.recipient);
  const heldUntil = await delivered(hands, shown.machine, sealed, now.machine.operator);
  return { now: now.quote, digest: await sha256(sealed), heldUntil };
}

/** The workload is where the agent has it or finds it. Until when it is held, unix seconds; 0: nobody has promised that. */
async function delivered(
  { pool, courier, tell }: RentingHands,
  machine: number,
  sealed: Uint8Array,
  operator: Address,
) {
  if ("leave" in courier) {
    tell("Leaving the sealed workload on your IPFS node, where the machine's agent looks for it");
    await courier.leave(sealed);
    return 0;
  }
  tell("Handing the sealed workload to the machine's agent");
  return await new AgentClient({ pool, machine, ...courier }).putWorkload(sealed, operator);
}

/** Extends a lease; the same leave, the same single transaction. */
export async function extend(hands: PayingHands, lease: bigint, seconds: number, amount: bigint) {
  const { chain, pool, sender } = hands;
  const funds = await readFunds(chain, pool, sender.account);
  const pulled = amount > funds.ledger ? amount - funds.ledger : 0n;
  const approve = pulled > funds.allowance ? pulled - funds.allowance : 0n;
  const permit = await leave(hands, pulled, approve);
  const deed = extendDeed(pool, lease, seconds, amount, permit);
  return await send(deed, sender, chain, (stage) => hands.tell(deed.words, stage), pool.money);
}

/** Gives a lease another share; the same leave, the same single transaction. */
export async function resize(hands: PayingHands, lease: bigint, change: Resizing) {
  const { chain, pool, sender } = hands;
  const funds = await readFunds(chain, pool, sender.account);
  const pulled = change.charged > funds.ledger ? change.charged - funds.ledger : 0n;
  const permit = await leave(hands, pulled, pulled > funds.allowance ? pulled - funds.allowance : 0n);
  const deed = resizeDeed(pool, lease, change, permit);
  return await send(deed, sender, chain, (stage) => hands.tell(deed.words, stage), pool.money);
}

/**
 * Challenges a lease's machine. The bond is the ledger's: what lacks there is paid in before, as a transaction.
 *
 * Throws a Problem where the bond is another than was shown: a challenge soon after an answered one takes twice as much.
 */
export async function challenge(hands: PayingHands, machine: number, lease: bigint, shown: bigint) {
  const { chain, pool, sender } = hands;
  const [funds, { faults, bond }] = await Promise.all([
    readFunds(chain, pool, sender.account),
    readChallenging(chain, pool, machine, sender.account),
  ]);
  if (bond !== shown) {
    throw new Problem(
      "price-changed",
      "The bond is another now than was shown.",
      "Look at it again: nothing was signed.",
    );
  }
  if (bond > funds.ledger) await payIn(hands, bond - funds.ledger);
  const deed = challengeDeed(pool, faults, machine, lease, bond);
  return await send(deed, sender, chain, (stage) => hands.tell(deed.words, stage), pool.money);
}

async function payIn(hands: PayingHands, amount: bigint): Promise<void> {
  const { chain, pool, sender } = hands;
  const { allowance } = await readFunds(chain, pool, sender.account);
  const permit = await leave(hands, amount, amount > allowance ? amount - allowance : 0n);
  const deed = depositDeed(pool, sender.account, amount, permit);
  await send(deed, sender, chain, (stage) => hands.tell(deed.words, stage), pool.money);
}

/** The price, the share's cost and the terms' revision that were shown are those of the chain, or a Problem. */
export function checkUnchanged(shown: Quote, now: Quote): void {
  if (shown.price === now.price && shown.revision === now.revision && shown.deposit === now.deposit) return;
  throw new Problem(
    "price-changed",
    `Machine ${shown.machine} asks another price now than was shown.`,
    "Look at the new price, then rent: nothing was signed.",
  );
}

/** Leave for the pool to take `pulled`: none where it has it, by a permit where the token takes one, else a transaction. */
export async function leave(hands: PayingHands, pulled: bigint, approve: bigint): Promise<Hex | null> {
  if (!approve) return null;
  const { chain, pool, sender } = hands;
  const deadline = BigInt((await readHead(chain)).time + PERMIT_SECONDS);
  const message = await permitOf(chain, pool, sender.account, pulled, deadline);
  if (message) {
    hands.tell(approval(pulled, pool.money));
    return depositWithPermit(sender.account, pulled, deadline, await hands.signTypedData(message));
  }
  const deed = approveDeed(pool, pulled);
  await send(deed, sender, chain, (stage) => hands.tell(deed.words, stage), pool.money);
  return null;
}
