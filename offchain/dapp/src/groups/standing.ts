/** Where a proposal stands by the chain's word: open, carried out, spent by another in its place, or over. */
import {
  type Address,
  decodeFunctionData,
  encodeEventTopics,
  type Hex,
  isAddressEqual,
  type PublicClient,
  parseEventLogs,
} from "viem";
import { poolLogs, readHead } from "../chain";
import { controllerAbi } from "../chain/generated/abi";
import { accountsAbi } from "./generated/accounts";
import type { Place } from "./place";
import { type Proposal, proposalOf } from "./proposal";

/** `leases`: what it opened. `spent`: its number was used, by another proposal or in a way that cannot be read here. */
export type ProposalStanding =
  | { readonly kind: "open" }
  | { readonly kind: "over" }
  | { readonly kind: "spent" }
  | { readonly kind: "done"; readonly transaction: Hex; readonly leases: readonly bigint[] };

export async function standingOf(chain: PublicClient, place: Place, proposal: Proposal): Promise<ProposalStanding> {
  const { account, nonce, deadline } = proposal.execution;
  const [next, head] = await Promise.all([nextNonce(chain, place, account, nonce >> 64n), readHead(chain)]);
  if (next <= nonce) return { kind: BigInt(head.time) > deadline ? "over" : "open" };
  const hash = await executedIn(chain, place, account, nonce);
  if (hash === null || !(await carries(chain, place, proposal, hash))) return { kind: "spent" };
  return { kind: "done", transaction: hash, leases: await openedBy(chain, place, account, hash) };
}

/** The next nonce of a key: sequences of different keys do not wait for one another. */
export async function nextNonce(
  chain: PublicClient,
  place: Pick<Place, "accounts">,
  account: Address,
  key: bigint,
): Promise<bigint> {
  const args = [account, key] as const;
  return await chain.readContract({ address: place.accounts, abi: accountsAbi, functionName: "nonceOf", args });
}

async function executedIn(chain: PublicClient, place: Place, account: Address, nonce: bigint): Promise<Hex | null> {
  const topics = encodeEventTopics({ abi: accountsAbi, eventName: "Executed", args: { account, nonce } });
  const logs = await poolLogs(chain, place.pool, topics as Hex[], place.accounts);
  return logs[0]?.transactionHash ?? null;
}

/** Whether a transaction carries out this very proposal: the event names the nonce alone. */
async function carries(chain: PublicClient, place: Place, proposal: Proposal, hash: Hex): Promise<boolean> {
  const { to, input } = await chain.getTransaction({ hash });
  if (to === null || !isAddressEqual(to, place.accounts)) return false;
  const { functionName, args } = decodeFunctionData({ abi: accountsAbi, data: input });
  if (functionName !== "execute") return false;
  const [account, calls, nonce, deadline] = args;
  return proposalOf(place, proposal.group, { account, calls, nonce, deadline }).digest === proposal.digest;
}

async function openedBy(chain: PublicClient, place: Place, tenant: Address, hash: Hex): Promise<readonly bigint[]> {
  const { logs } = await chain.getTransactionReceipt({ hash });
  const own = logs.filter(({ address }) => isAddressEqual(address, place.pool.controller));
  const opened = parseEventLogs({ abi: controllerAbi, eventName: "LeaseOpened", logs: own });
  return opened.filter(({ args }) => isAddressEqual(args.tenant, tenant)).map(({ args }) => args.lease);
}
