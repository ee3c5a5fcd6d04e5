/**
 * Keeping a lease by a gateway that extends it out of a purse. From the gateway come its fee and whom it is paid to, both
 * shown and signed; where the money is, and how far the purse is, the chain alone says.
 */
import {
  type Address,
  encodeEventTopics,
  encodeFunctionData,
  getAddress,
  type Hex,
  isAddress,
  isAddressEqual,
  type PublicClient,
  parseAbi,
  parseEventLogs,
} from "viem";
import { gateway } from "../api/gateway";
import { cellsOf, cost, type Deed, formatLease, type Lease, poolLogs, readFunds, readHead, send } from "../chain";
import { controllerAbi } from "../chain/generated/abi";
import { exact, formatDuration } from "../format";
import {
  executeDeed,
  type Group,
  nextNonce,
  type Place,
  proposalOf,
  readPlace,
  type SignTypedData,
  signProposal,
} from "../groups";
import { Problem } from "../problem";
import { leave, type PayingHands } from "../renting";
import { leftIn, type Purse, type PurseSignatures, purseGroup, RETURNS, signedPurse, transfer } from "./purse";

const transferredAbi = parseAbi([
  "event Transferred(address indexed from, address indexed to, uint256 amount)",
  "function deposit(address to, uint256 amount)",
]);
/** How long taking back may take from the signature on. */
const SECONDS = 3_600;
/** How long past its last extension a purse's signatures are good: for what goes back. */
const GRACE = 30 * 86_400;
const AMOUNT = /^[0-9]{1,29}$/;

/** On which terms a gateway extends leases. `fee`: each time, token units. */
export interface PurseOffer {
  readonly payee: Address;
  readonly fee: bigint;
  readonly most: number;
}

/** The gateway's; null where it extends none. Throws a Problem for what is no offer. */
export async function askOffer(): Promise<PurseOffer | null> {
  const said = await gateway.get<Readonly<Record<string, unknown>>>("purses").catch((error: unknown) => {
    if (error instanceof Problem && ["not-served", "needs-gateway"].includes(error.code)) return null;
    throw error;
  });
  if (said === null) return null;
  const { payee, fee, most } = said;
  if (typeof payee !== "string" || !isAddress(payee) || typeof fee !== "string" || !AMOUNT.test(fee)) {
    throw new Problem("purse-refused", "The gateway names no fee that is one.", "Nothing was signed.");
  }
  return { payee: getAddress(payee), fee: BigInt(fee), most: Number(most) };
}

/** What is put aside, and for what: as it is shown, so it is signed. Token units. */
export interface KeepingWish {
  readonly seconds: number;
  readonly count: number;
  readonly most: bigint;
  readonly fee: bigint;
  readonly payee: Address;
  readonly whole: bigint;
}

export function wishOf(lease: Lease, offer: PurseOffer, seconds: number, count: number): KeepingWish {
  const most = cost(lease.price, cellsOf(lease.placement), seconds, true);
  const { fee, payee } = offer;
  return { seconds, count, most, fee, payee, whole: leftIn({ count, most, fee }, 0) };
}

export interface KeepingHands extends PayingHands {
  /** Signs the account in to the gateway, unless it is. */
  readonly signIn: () => Promise<void>;
}

/** Hands the gateway what it needs, then puts the money aside, in one transaction. Throws a Problem. */
export async function keepLease(hands: KeepingHands, lease: Lease, wish: KeepingWish): Promise<void> {
  const { chain, pool, sender, tell } = hands;
  if (!(await hasKey(chain, sender.account))) {
    throw new Problem(
      "needs-a-key",
      "This account is a contract, which could not take back by a signature what is put aside.",
      "Extend the lease yourself, or by a delegate.",
    );
  }
  const place = await readPlace(chain, pool);
  const { seconds, count, most, fee, payee } = wish;
  const deadline = lease.end + count * seconds + GRACE;
  const terms = { tenant: sender.account, lease: lease.id, payee, fee, seconds, most, count, deadline };
  const { purse, signatures } = await signedPurse(place, terms);
  tell("Signing in to the gateway, and handing it the extensions");
  await hands.signIn();
  await gateway.post(`leases/${formatLease(lease.id)}/purse`, bodyOf(purse, signatures));
  const funds = await readFunds(chain, pool, sender.account);
  const pulled = wish.whole > funds.ledger ? wish.whole - funds.ledger : 0n;
  const permit = await leave(hands, pulled, pulled > funds.allowance ? pulled - funds.allowance : 0n);
  const deed = fundingDeed(place, purse, pulled, permit);
  await send(deed, sender, chain, (stage) => tell(deed.words, stage), pool.money);
}

/** An account with a key of its own: one without code, or with code that a key has chosen (EIP-7702). */
async function hasKey(chain: PublicClient, account: Address): Promise<boolean> {
  const code = await chain.getCode({ address: account });
  return code === undefined || code === "0x" || code.startsWith("0xef0100");
}

function bodyOf(purse: Purse, signatures: PurseSignatures): object {
  const { key, payee, fee, seconds, most, deadline } = purse;
  return { key, payee, fee: String(fee), seconds, most: String(most), deadline, ...signatures };
}

/**
 * Puts the sum into the purse. The second transfer is of nothing, to the purse's key: whoever has the wallet finds the purse
 * by it on the chain, from any browser, without any gateway.
 */
export function fundingDeed(place: Place, purse: Purse, pulled: bigint, permit: Hex | null): Deed {
  const { pool } = place;
  const whole = leftIn(purse, 0);
  const { account } = purseGroup(place, purse.tenant, purse.lease, purse.key);
  const paidIn = encodeFunctionData({
    abi: transferredAbi,
    functionName: "deposit",
    args: [purse.tenant, pulled],
  });
  const calls = [...(pulled ? [permit ?? paidIn] : []), transfer(account, whole), transfer(purse.key, 0n)];
  const data = encodeFunctionData({ abi: controllerAbi, functionName: "multicall", args: [calls] });
  const times = `up to ${purse.count} × ${formatDuration(purse.seconds)}`;
  const words = `Put ${exact(whole, pool.money)} aside for lease ${formatLease(purse.lease)}: ${times} more, with the fees.`;
  return { words, to: pool.controller, data };
}

/** A purse as the chain has it. `holds`: token units in it. */
export interface FoundPurse {
  readonly group: Group;
  readonly holds: bigint;
}

/** The purses of a tenant's lease that have money in them, by what he has transferred. */
export async function findPurses(
  chain: PublicClient,
  place: Place,
  tenant: Address,
  lease: bigint,
): Promise<readonly FoundPurse[]> {
  const { pool } = place;
  const topics = encodeEventTopics({ abi: transferredAbi, eventName: "Transferred", args: { from: tenant } });
  const raw = await poolLogs(chain, pool, topics as Hex[]); // from the first block: a gateway says which is the pool's
  const logs = parseEventLogs({ abi: transferredAbi, eventName: "Transferred", logs: raw });
  const named = logs.filter(({ args }) => args.amount === 0n && !isAddressEqual(args.to, tenant));
  const groups = named.flatMap(({ args, transactionHash }) => {
    const group = purseGroup(place, tenant, lease, args.to);
    const isPaid = logs.some(
      (log) => log.transactionHash === transactionHash && isAddressEqual(log.args.to, group.account),
    );
    return isPaid ? [group] : [];
  });
  const found = await Promise.all(groups.map(async (group) => ({ group, holds: await inLedger(chain, place, group) })));
  return found.filter(({ holds }) => holds > 0n);
}

async function inLedger(chain: PublicClient, { pool }: Place, { account }: Group): Promise<bigint> {
  const args = [account] as const;
  return await chain.readContract({ address: pool.controller, abi: controllerAbi, functionName: "balanceOf", args });
}

/** Takes back all that is in a purse, by the tenant's own word: one signature and one transaction, and no gateway. */
export async function takeBack(
  hands: Omit<PayingHands, "signTypedData"> & { readonly signTypedData: SignTypedData },
  lease: bigint,
  { group }: FoundPurse,
): Promise<void> {
  const { chain, pool, sender, tell } = hands;
  const place = await readPlace(chain, pool);
  const holds = await inLedger(chain, place, group);
  if (!holds) throw new Problem("purse-empty", "Nothing is in the purse any more.", "Look at your ledger.");
  const { account } = group;
  const nonce = await nextNonce(chain, place, account, RETURNS);
  const calls = [{ target: pool.controller, data: transfer(sender.account, holds) }];
  const deadline = BigInt((await readHead(chain)).time + SECONDS);
  const proposal = proposalOf(place, group, { account, calls, nonce, deadline });
  const words = `Take ${exact(holds, pool.money)} back out of the purse of lease ${formatLease(lease)}, into your ledger.`;
  tell(words);
  const proof = await signProposal(place, proposal, hands.signTypedData);
  const deed = { ...executeDeed(place, proposal, new Map([[sender.account, proof]])), words };
  await send(deed, sender, chain, (stage) => tell(words, stage), pool.money);
}
