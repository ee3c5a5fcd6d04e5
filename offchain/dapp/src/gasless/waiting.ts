/**
 * What was signed for a gateway, and may still be sent by it: kept in this browser until it was done or is over.
 *
 * Signed again it has the same nonce, so that of both one is done. What the wallet sends itself has none of that row: a
 * gateway that said no could have the same happen a second time.
 */
import { type Address, type PublicClient, slice, toFunctionSelector } from "viem";
import { type Pool, readHead } from "../chain";
import { formatAbsolute } from "../format";
import { type Call, nextNonce } from "../groups";
import { Problem } from "../problem";

const PREFIX = "leasehold.gasless.";
const NUMBER = /^[0-9]{1,78}$/;
/** Of these a second one is refused by the contract. */
const HARMLESS: readonly string[] = ["close(uint256)", "reject(uint256)"].map((name) => toFunctionSelector(name));

/** Whose it is, in which pool. */
export interface Whose {
  readonly chain: PublicClient;
  readonly pool: Pool;
  readonly account: Address;
}

/** `accounts`: whose nonce it is. `deadline`: unix seconds. `does`: the functions of its calls, by their first four bytes. */
interface Waiting {
  readonly accounts: Address;
  readonly nonce: string;
  readonly deadline: number;
  readonly does: readonly string[];
}

/** Notes what was signed, before it leaves. */
export function noteSigned(
  whose: Whose,
  accounts: Address,
  nonce: bigint,
  deadline: bigint,
  calls: readonly Call[],
): void {
  const before = read(whose);
  const also = before?.nonce === String(nonce) ? before.does : []; // either of the two may still be done
  const does = [...new Set([...also, ...functionsOf(calls)])];
  const waiting: Waiting = { accounts, nonce: String(nonce), deadline: Number(deadline), does };
  localStorage.setItem(place(whose), JSON.stringify(waiting));
}

/** It was done, or can be no more. */
export function forgetSigned(whose: Whose): void {
  localStorage.removeItem(place(whose));
}

/** Throws a Problem where these calls could be done by a gateway, too, which has what was signed before. */
export async function checkNoneWaits(whose: Whose, row: bigint, calls: readonly Call[]): Promise<void> {
  const waiting = read(whose);
  if (waiting === null || !functionsOf(calls).some((name) => waiting.does.includes(name))) return;
  const [head, next] = await Promise.all([readHead(whose.chain), nextNonce(whose.chain, waiting, whose.account, row)]);
  if (head.time > waiting.deadline || next > BigInt(waiting.nonce)) {
    forgetSigned(whose);
    return;
  }
  throw new Problem(
    "gasless-waiting",
    "A gateway has what you signed before, and may still send it: sent by your wallet now, it could happen twice.",
    `Wait until ${formatAbsolute(waiting.deadline)}, or have a gateway send it: what you sign again is done once.`,
  );
}

function functionsOf(calls: readonly Call[]): readonly string[] {
  return calls.map(({ data }) => slice(data, 0, 4) as string).filter((name) => !HARMLESS.includes(name));
}

function read(whose: Whose): Waiting | null {
  try {
    const waiting = JSON.parse(localStorage.getItem(place(whose)) ?? "") as Waiting;
    const { nonce, deadline, does } = waiting;
    return NUMBER.test(nonce) && Number.isFinite(deadline) && Array.isArray(does) ? waiting : null;
  } catch {
    return null;
  }
}

function place({ pool, account }: Whose): string {
  return `${PREFIX}${pool.chainId}-${pool.controller}-${account}`.toLowerCase();
}
