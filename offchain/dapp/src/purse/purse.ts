/**
 * A lease's purse: an account of its own, whose money extends that one lease or goes back to its tenant, as the library's
 * `LeasePurse` has it.
 *
 * It is a group of two of whom one is enough: the tenant, and a key that is made here, signs so many extensions and the way
 * back, and is thrown away. Whoever has these signatures can do nothing else with the purse.
 */
import { type Address, concat, encodeFunctionData, type Hex, keccak256, numberToHex, slice, toHex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { controllerAbi } from "../chain/generated/abi";
import { type Call, type Execution, executionRequest, type Group, makeGroup, type Place } from "../groups";

const rowOf = (name: string): bigint => BigInt(slice(keccak256(toHex(name)), 0, 24));
/** The rows of nonces of a purse's extensions, and of what goes back. */
export const EXTENSIONS = rowOf("leasehold.purse.extensions");
export const RETURNS = rowOf("leasehold.purse.returns");

/** `lease` is extended by `seconds` up to `count` times, each for `most` token units at most and a `fee` to `payee`. */
export interface Purse {
  readonly tenant: Address;
  readonly lease: bigint;
  readonly key: Address;
  readonly payee: Address;
  readonly fee: bigint;
  readonly seconds: number;
  readonly most: bigint;
  readonly count: number;
  readonly deadline: number;
}

/** What is signed of it, in turn. */
export interface PurseSignatures {
  readonly extensions: readonly Hex[];
  readonly returns: readonly Hex[];
}

/** Who the purse is: its address says which pool, which lease, whose, and which key. */
export function purseGroup({ accounts, pool }: Place, tenant: Address, lease: bigint, key: Address): Group {
  const named = concat([toHex("leasehold.purse"), pool.controller, numberToHex(lease, { size: 32 })]);
  return makeGroup(accounts, 1, [tenant, key], keccak256(named));
}

/** What is in it after so many extensions, or a little more. Token units. */
export function leftIn({ count, most, fee }: Pick<Purse, "count" | "most" | "fee">, used: number): bigint {
  return BigInt(count - used) * (most + fee);
}

/** The extension with that number, from 0 on. */
export function extensionOf(place: Place, purse: Purse, number: number): Execution {
  const args = [purse.lease, purse.seconds] as const;
  const data = encodeFunctionData({ abi: controllerAbi, functionName: "extend", args });
  return made(place, purse, data, (EXTENSIONS << 64n) | BigInt(number));
}

/** What is left after so many extensions, less a fee, into the tenant's ledger. */
export function returnOf(place: Place, purse: Purse, used: number): Execution {
  const data = transfer(purse.tenant, leftIn(purse, used) - purse.fee);
  return made(place, purse, data, RETURNS << 64n);
}

function made(place: Place, purse: Purse, data: Hex, nonce: bigint): Execution {
  const target = place.pool.controller;
  const calls: readonly Call[] = [
    { target, data: transfer(purse.payee, purse.fee) },
    { target, data },
  ];
  const { account } = purseGroup(place, purse.tenant, purse.lease, purse.key);
  return { account, calls, nonce, deadline: BigInt(purse.deadline) };
}

/** The ledger's call that gives `amount` to another ledger. */
export function transfer(to: Address, amount: bigint): Hex {
  return encodeFunctionData({ abi: controllerAbi, functionName: "transfer", args: [to, amount] });
}

/** A purse of these terms whose key is made for it, and is gone when it has signed. */
export async function signedPurse(
  place: Place,
  terms: Omit<Purse, "key">,
  secret: Hex = generatePrivateKey(),
): Promise<{ readonly purse: Purse; readonly signatures: PurseSignatures }> {
  const key = privateKeyToAccount(secret);
  const purse = { ...terms, key: key.address };
  const sign = (execution: Execution): Promise<Hex> => key.signTypedData(executionRequest(place, execution));
  const numbers = Array.from({ length: purse.count }, (_, number) => number);
  const extensions = await Promise.all(numbers.map((number) => sign(extensionOf(place, purse, number))));
  const returns = await Promise.all(numbers.map((used) => sign(returnOf(place, purse, used))));
  return { purse, signatures: { extensions, returns } };
}
