/** From what a member wants a group to do to a proposal that a gateway has, signed by that member. */
import { type Address, bytesToBigInt, encodeFunctionData, type Hex, type PublicClient } from "viem";
import { type Pool, readHead } from "../chain";
import { controllerAbi } from "../chain/generated/abi";
import { type Call, decodeCall, sentence } from "./calls";
import { bring } from "./gathering";
import type { Group } from "./group";
import type { Place } from "./place";
import { type Proposal, proposalOf, type SignTypedData, signProposal } from "./proposal";

export const LIFETIME = 7 * 86_400; // seconds that a proposal waits for its signatures

export interface ProposingHands {
  readonly chain: PublicClient;
  readonly place: Place;
  readonly group: Group;
  /** Who proposes, one of the group's. */
  readonly member: Address;
  readonly signTypedData: SignTypedData;
  readonly tell: (words: string) => void;
}

/** A proposal of these calls, whose nonce has a key of its own: it waits for no other, and none for it. */
export async function draw(chain: PublicClient, place: Place, group: Group, calls: readonly Call[], until?: number) {
  const { time } = await readHead(chain);
  const key = bytesToBigInt(crypto.getRandomValues(new Uint8Array(8)));
  const deadline = BigInt(Math.min(time + LIFETIME, until ?? time + LIFETIME));
  return proposalOf(place, group, { account: group.account, calls, nonce: key << 64n, deadline });
}

/** Proposes calls, signs them as the member, and brings both. `until`: an earlier deadline, unix seconds. */
export async function propose(hands: ProposingHands, calls: readonly Call[], until?: number): Promise<Proposal> {
  const { chain, place, group, member } = hands;
  const says = calls.map((call) => sentence(decodeCall(call, place), place.pool.money));
  const proposal = await draw(chain, place, group, calls, until);
  hands.tell(`Signing as one of the group's: ${says.join(" ")}`);
  const proof = await signProposal(place, proposal, hands.signTypedData);
  hands.tell("Bringing it to the gateway, where the others find it");
  await bring(place, { proposal, signatures: new Map([[member, proof]]) });
  return proposal;
}

export function closeCall(pool: Pool, lease: bigint): Call {
  return callOf(pool, encodeFunctionData({ abi: controllerAbi, functionName: "close", args: [lease] }));
}

export function extendCall(pool: Pool, lease: bigint, seconds: number): Call {
  return callOf(pool, encodeFunctionData({ abi: controllerAbi, functionName: "extend", args: [lease, seconds] }));
}

export function withdrawCall(pool: Pool, to: Address, amount: bigint): Call {
  return callOf(pool, encodeFunctionData({ abi: controllerAbi, functionName: "withdraw", args: [to, amount] }));
}

function callOf(pool: Pool, data: Hex): Call {
  return { target: pool.controller, data };
}
