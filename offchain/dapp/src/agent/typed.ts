/** What is signed for an agent, field by field as the library's `chain/_typed.py` has it. */
import type { Address, Hex } from "viem";

import type { Pool } from "../chain";

/** Lets `key` sign requests for `account` until `expiresAt`: on `leases` (none: all), for `ops` alone. */
export interface Session {
  readonly account: Address;
  readonly chain: number;
  readonly controller: Address;
  readonly leases: readonly bigint[];
  readonly ops: readonly string[];
  readonly key: Address;
  readonly expiresAt: number;
}

/** One request to a machine's agent. */
export interface Request {
  readonly account: Address;
  readonly chain: number;
  readonly controller: Address;
  readonly machine: number;
  readonly lease: bigint;
  readonly op: string;
  readonly paramsHash: Hex;
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly nonce: Hex;
}

export const SESSION = [
  { name: "account", type: "address" },
  { name: "chain", type: "uint256" },
  { name: "controller", type: "address" },
  { name: "leases", type: "uint256[]" },
  { name: "ops", type: "string[]" },
  { name: "key", type: "address" },
  { name: "expiresAt", type: "uint64" },
] as const;

export const REQUEST = [
  { name: "account", type: "address" },
  { name: "chain", type: "uint256" },
  { name: "controller", type: "address" },
  { name: "machine", type: "uint32" },
  { name: "lease", type: "uint256" },
  { name: "op", type: "string" },
  { name: "paramsHash", type: "bytes32" },
  { name: "issuedAt", type: "uint64" },
  { name: "expiresAt", type: "uint64" },
  { name: "nonce", type: "bytes32" },
] as const;

export const RECEIPT = [
  { name: "chain", type: "uint256" },
  { name: "controller", type: "address" },
  { name: "machine", type: "uint32" },
  { name: "digest", type: "bytes32" },
  { name: "expiresAt", type: "uint64" },
] as const;

export function domainOf(pool: Pick<Pool, "chainId" | "controller">) {
  return { name: "Leasehold", version: "1", chainId: pool.chainId, verifyingContract: pool.controller } as const;
}

export function sessionRequest(pool: Pool, session: Session) {
  const message = { ...session, chain: BigInt(session.chain), expiresAt: BigInt(session.expiresAt) };
  return { domain: domainOf(pool), types: { Session: SESSION }, primaryType: "Session", message } as const;
}

/** The message by wire names, made of what JSON has: integers that JavaScript would round are decimal texts. */
export function toJson(message: Session | Request): Record<string, unknown> {
  return Object.fromEntries(Object.entries(message).map(([name, value]) => [name, plain(value)]));
}

function plain(value: unknown): unknown {
  if (typeof value === "bigint") return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : String(value);
  return Array.isArray(value) ? value.map(plain) : value;
}

/** JSON with sorted keys and no spaces, as both sides write what they hash or send. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([name, held]) => `${JSON.stringify(name)}:${canonicalJson(held)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}
