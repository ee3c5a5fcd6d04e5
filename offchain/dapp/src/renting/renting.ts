/**
 * Renting, in the order that makes a crash harmless: the workload is with the agent before any money moves, and `open` is
 * the only transaction. Everything that decides about money is read from the chain here, and nothing from the gateway.
 */
import type { Address, Hex, PublicClient, TransactionReceipt } from "viem";
import { parseEventLogs } from "viem";

import { AgentClient, type SessionKey } from "../agent";
import { approval, approveDeed, depositWithPermit, extendDeed, obstacle, openDeed, PERMIT_SECONDS, permitOf, quote, readFunds, readHead, readMachine, readParams, readParamsVersion, send, type Machine, type Pool, type Quote, type Sender, type Stage, type Wish } from "../chain";
import { Problem } from "../problem";
import { controllerAbi } from "../chain/generated/abi";
import { readContact, seal, type FetchDocument, type WorkloadFields } from "../sealing";

/** What a machine asks, and what the lease would cost there, by the chain's word alone. `problem`: why it is refused. */
export interface Offer {
  readonly machine: Machine;
  readonly quote: Quote;
  readonly problem: Problem | null;
}

/** Reads the machine and quotes the wish. `account` null: nobody is connected, and nothing is in the ledger. */
export async function offerOf(
  chain: PublicClient,
  pool: Pool,
  id: number,
  wish: Wish,
  account: Address | null,
): Promise<Offer> {
  const nothing = { ledger: 0n, wallet: 0n, allowance: 0n };
  const [machine, current, head, funds] = await Promise.all([
    readMachine(chain, pool, id),
    readParamsVersion(chain, pool),
    readHead(chain),
    account ? readFunds(chain, pool, account) : nothing,
  ]);
  const offered = quote(machine, await readParams(chain, pool, machine.params || current), wish, funds);
  const short = account !== null && offered.pulled > funds.wallet;
  const problem = obstacle(machine, current, wish, head.time) ?? (short ? shortfall(pool, offered, funds.wallet) : null);
  return { machine, quote: offered, problem };
}

function shortfall(pool: Pool, offered: Quote, wallet: bigint): Problem {
  const { symbol } = pool.money;
  const missing = approval(offered.pulled - wallet, pool.money).replace(/^.*up to | from your wallet\.$/g, "");
  return new Problem("not-enough-funds", `Your wallet is ${missing} short.`, `Get more ${symbol}, or rent for less time.`);
}

/** Everybody that renting takes. `tell` hears what happens, in words and stages. */
export interface Hands {
  readonly chain: PublicClient;
  readonly pool: Pool;
  readonly sender: Sender;
  readonly key: SessionKey;
  readonly signTypedData: (message: NonNullable<Awaited<ReturnType<typeof permitOf>>>) => Promise<Hex>;
  readonly fetchDocument: FetchDocument;
  readonly tell: (words: string, stage?: Stage) => void;
}

/**
 * Rents as the reader was shown: `shown` is the quote beside the button. Returns the lease.
 *
 * Throws a Problem, before anything is signed, where the chain now says another price or revision than was shown.
 */
export async function rent(hands: Hands, shown: Quote, workload: WorkloadFields): Promise<bigint> {
  const { chain, pool, sender } = hands;
  const { share, duration, allowUnverified } = shown;
  const wish = { share, duration, allowUnverified };
  const now = await offerOf(chain, pool, shown.machine, wish, sender.account);
  if (now.problem) throw now.problem;
  checkUnchanged(shown, now.quote);
  hands.tell("Sealing the workload to the machine's key");
  const contact = await readContact(chain, pool, shown.machine, hands.fetchDocument);
  const sealed = await seal({ ...workload, tenant: sender.account }, contact.recipient);
  hands.tell("Handing the sealed workload to the machine's agent");
  const agent = new AgentClient({ pool, machine: shown.machine, key: hands.key });
  await agent.putWorkload(sealed, now.machine.operator);
  const permit = await leave(hands, now.quote.pulled, now.quote.approve);
  const digest: Hex = `0x${await digestOf(sealed)}`;
  const deed = openDeed(pool, now.quote, digest, permit);
  const receipt = await send(deed, sender, chain, (stage) => hands.tell(deed.words, stage), pool.money);
  return openedIn(receipt);
}

/** Extends a lease; the same leave, the same single transaction. */
export async function extend(hands: Omit<Hands, "key" | "fetchDocument">, lease: bigint, seconds: number, amount: bigint) {
  const { chain, pool, sender } = hands;
  const funds = await readFunds(chain, pool, sender.account);
  const pulled = amount > funds.ledger ? amount - funds.ledger : 0n;
  const approve = pulled > funds.allowance ? pulled - funds.allowance : 0n;
  const permit = await leave(hands, pulled, approve);
  const deed = extendDeed(pool, lease, seconds, amount, permit);
  return await send(deed, sender, chain, (stage) => hands.tell(deed.words, stage), pool.money);
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
async function leave(hands: Omit<Hands, "key" | "fetchDocument">, pulled: bigint, approve: bigint): Promise<Hex | null> {
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

function openedIn(receipt: TransactionReceipt): bigint {
  const [opened] = parseEventLogs({ abi: controllerAbi, eventName: "LeaseOpened", logs: receipt.logs });
  if (!opened) throw new Problem("not-opened", "The transaction opened no lease.", "Look at Leases before you try again.");
  return opened.args.lease;
}

async function digestOf(data: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data as BufferSource));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
