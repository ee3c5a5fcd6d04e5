/**
 * A throw-away key for the agents' API: the wallet signs for it once, and it works from there.
 *
 * It is kept for this tab alone. A thief of it can ask agents about the account's leases and run commands in them until it
 * ends, and can never move money; so it ends after a day, and grants what these pages do and nothing else.
 */
import { type Address, concat, type Hex, toHex } from "viem";
import { generatePrivateKey, privateKeyToAccount, sign } from "viem/accounts";
import { hashTypedData } from "viem/utils";

import type { Pool } from "../chain";
import { canonicalJson, domainOf, REQUEST, type Request, type Session, sessionRequest, toJson } from "./typed";

export const SESSION_SECONDS = 86_400;
const PREFIX = "leasehold.session.";
const RENEW_BEFORE = 600; // seconds before its end, so that none ends in the middle of a command

/** What these pages ask agents for. Every agent knows these. */
export const OPS = [
  "workload.put",
  "lease.status",
  "lease.logs",
  "lease.exec",
  "lease.results",
  "lease.metrics",
] as const;
export type Op = (typeof OPS)[number];

/** `proof`: the account's, over the session. */
export interface SessionKey {
  readonly session: Session;
  readonly proof: Hex;
  readonly privateKey: Hex;
}

export type Keep = Pick<Storage, "getItem" | "setItem" | "removeItem">;
export type SignTypedData = (message: ReturnType<typeof sessionRequest>) => Promise<Hex>;

/** The session that this tab has for the account, or null. `now`: unix seconds. */
export function keptSession(pool: Pool, account: Address, keep: Keep, now: number): SessionKey | null {
  const text = keep.getItem(place(pool, account));
  if (text === null) return null;
  try {
    const key = JSON.parse(text) as SessionKey;
    const { session } = key;
    const mine =
      session.account === account && session.chain === pool.chainId && session.controller === pool.controller;
    const covers = OPS.every((op) => session.ops.includes(op));
    return mine && covers && session.expiresAt > now + RENEW_BEFORE ? key : null;
  } catch {
    return null;
  }
}

/** A new session, for which the wallet signs once; kept for this tab. */
export async function grantSession(
  pool: Pool,
  account: Address,
  signTypedData: SignTypedData,
  keep: Keep,
  now: number,
): Promise<SessionKey> {
  const privateKey = generatePrivateKey();
  const session: Session = {
    account,
    chain: pool.chainId,
    controller: pool.controller,
    leases: [],
    ops: [...OPS],
    key: privateKeyToAccount(privateKey).address,
    expiresAt: now + SESSION_SECONDS,
  };
  const proof = concat(["0x01", await signTypedData(sessionRequest(pool, session))]);
  const key = { session, proof, privateKey };
  keep.setItem(place(pool, account), JSON.stringify(key));
  return key;
}

/** Forgets every key that this tab has for agents, whosever it is. */
export function forgetSessions(keep: Storage): void {
  for (const name of Object.keys(keep)) if (name.startsWith(PREFIX)) keep.removeItem(name);
}

/** A proof of kind 4 for the request, by the session's key. */
export async function prove(key: SessionKey, request: Request): Promise<Hex> {
  const message = {
    ...request,
    chain: BigInt(request.chain),
    issuedAt: BigInt(request.issuedAt),
    expiresAt: BigInt(request.expiresAt),
  };
  const hash = hashTypedData({
    domain: domainOf({ chainId: request.chain, controller: request.controller }),
    types: { Request: REQUEST },
    primaryType: "Request",
    message,
  });
  const signature = await sign({ hash, privateKey: key.privateKey, to: "hex" });
  const payload = { session: toJson(key.session), session_proof: key.proof, signature };
  return concat(["0x04", toHex(canonicalJson(payload))]);
}

function place(pool: Pool, account: Address): string {
  return `${PREFIX}${pool.chainId}-${pool.controller}-${account}`.toLowerCase();
}
