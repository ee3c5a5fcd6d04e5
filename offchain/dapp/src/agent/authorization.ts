/** The Authorization header of the agent's API: a signed `Request`, which ties the signature to one call. */
import { bytesToHex, type Hex, sha256, stringToBytes, toHex } from "viem";

import type { Pool } from "../chain";
import { type Op, prove, type SessionKey } from "./session";
import { canonicalJson, type Request, toJson } from "./typed";

const REQUEST_SECONDS = 120;

/** A call of the agent's API. `path` and `query` as they are sent, escapes included; `query` without its question mark. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly op: Op;
  readonly lease: bigint;
  readonly body?: Uint8Array;
}

/** What `Request.paramsHash` must be for this call. */
export function paramsHash(method: string, path: string, query: string, bodyDigest: Hex): Hex {
  return sha256(stringToBytes(canonicalJson({ method, path, query, body: bodyDigest.slice(2) })));
}

/** The credential alone, base64url: behind `Leasehold ` in the header, or in a WebSocket's subprotocol. */
export async function credential(
  pool: Pool,
  machine: number,
  key: SessionKey,
  call: Call,
  now: number,
  nonce: Hex = bytesToHex(crypto.getRandomValues(new Uint8Array(32))),
): Promise<string> {
  const request: Request = {
    account: key.session.account,
    chain: pool.chainId,
    controller: pool.controller,
    machine,
    lease: call.lease,
    op: call.op,
    paramsHash: paramsHash(call.method, call.path, call.query, sha256(call.body ?? new Uint8Array())),
    issuedAt: now,
    expiresAt: now + REQUEST_SECONDS,
    nonce,
  };
  return base64url(canonicalJson({ request: toJson(request), proof: await prove(key, request) }));
}

function base64url(text: string): string {
  const bytes = stringToBytes(text);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** SHA-256 of bytes that are at hand, in hex without 0x, as paths name workloads. */
export function digestName(data: Uint8Array): string {
  return sha256(toHex(data)).slice(2);
}
