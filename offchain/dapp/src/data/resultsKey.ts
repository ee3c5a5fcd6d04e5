/**
 * The age key that results are sealed to: made of one signature of the wallet, so that another browser makes the same,
 * and kept here, so that the wallet is asked once.
 */
import { bech32 } from "@scure/base";
import { identityToRecipient } from "age-encryption";
import { type Address, concat, type Hex, hexToBytes, sha256, slice, toHex } from "viem";
import type { Pool } from "../chain";
import type { KeyBook } from "./keyBook";

/** What the wallet signs for it. It is never sent: whoever has a signature of it can read this account's results. */
export function resultsKeyRequest(pool: Pool, account: Address) {
  return {
    domain: { name: "Leasehold", version: "1", chainId: pool.chainId, verifyingContract: pool.controller },
    types: {
      ResultsKey: [
        { name: "account", type: "address" },
        { name: "chain", type: "uint256" },
        { name: "controller", type: "address" },
      ],
    },
    primaryType: "ResultsKey",
    message: { account, chain: BigInt(pool.chainId), controller: pool.controller },
  } as const;
}

/** The age identity that the signature comes to. What v is depends on the wallet's conventions, and does not count. */
export function resultsIdentity(signature: Hex): string {
  const scalar = sha256(concat([toHex("leasehold results key 1"), slice(signature, 0, 64)]));
  return bech32.encodeFromBytes("AGE-SECRET-KEY-", hexToBytes(scalar)).toUpperCase();
}

export type SignResultsKey = (message: ReturnType<typeof resultsKeyRequest>) => Promise<Hex>;

/** The account's, kept or signed for now. */
export async function resultsKey(book: KeyBook, pool: Pool, account: Address, sign: SignResultsKey): Promise<string> {
  const kept = book.read().results;
  if (kept !== null) return kept;
  const identity = resultsIdentity(await sign(resultsKeyRequest(pool, account)));
  book.keepResults(identity);
  return identity;
}

export async function recipientOf(identity: string): Promise<string> {
  return await identityToRecipient(identity);
}
