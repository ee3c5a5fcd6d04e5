/** What groups' pages send: a proposal that enough have signed, and money paid into a group's ledger. */
import { type Address, encodeFunctionData, type PublicClient } from "viem";
import { type Deed, type Pool, problemOf, tokenAbi } from "../chain";
import { controllerAbi } from "../chain/generated/abi";
import { exact } from "../format";
import { decodeCall, sentence } from "./calls";
import { accountsAbi } from "./generated/accounts";
import type { Place } from "./place";
import { type Proposal, proofOf, type Signatures } from "./proposal";

/** What all of a proposal's calls do, as sentences. Throws a Problem for one that cannot be shown. */
export function wordsOf(place: Place, proposal: Proposal): readonly string[] {
  return proposal.execution.calls.map((call) => sentence(decodeCall(call, place), place.pool.money));
}

/** Carries a proposal out. Anybody may; whoever does pays the gas. */
export function executeDeed(place: Place, proposal: Proposal, signatures: Signatures): Deed {
  const { account, calls, nonce, deadline } = proposal.execution;
  const args = [account, calls, nonce, deadline, proofOf(proposal, signatures)] as const;
  const data = encodeFunctionData({ abi: accountsAbi, functionName: "execute", args });
  return { words: `Carry out: ${wordsOf(place, proposal).join(" ")}`, to: place.accounts, data };
}

/** Moves tokens from the sender's wallet into the ledger of a group, by leave that was given before. */
export function payInDeed(pool: Pool, account: Address, amount: bigint): Deed {
  const data = encodeFunctionData({ abi: controllerAbi, functionName: "deposit", args: [account, amount] });
  return { words: `Pay ${exact(amount, pool.money)} into the ledger of ${account}.`, to: pool.controller, data };
}

/** How much of an account's tokens the pool may take already. */
export async function leaveOf(chain: PublicClient, pool: Pool, owner: Address): Promise<bigint> {
  const args = [owner, pool.controller] as const;
  return await chain.readContract({ address: pool.token, abi: tokenAbi, functionName: "allowance", args });
}

/** Why the contracts would refuse a single call of the pool as things stand, or null. */
export async function refusalNow(chain: PublicClient, place: Place, proposal: Proposal): Promise<Error | null> {
  const [call, ...more] = proposal.execution.calls;
  if (!call || more.length || call.target === place.accounts) return null;
  try {
    await chain.call({ account: proposal.group.account, to: call.target, data: call.data });
    return null;
  } catch (error) {
    return problemOf(error, "that", place.pool.money);
  }
}
