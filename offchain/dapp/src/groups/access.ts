/**
 * A session that a group is asked for: lets a key that one of its members has made in a browser see and use one lease.
 *
 * The key stands in what is signed, so that nobody swaps it on the way: who signs for another key signs something else.
 */
import { concat, type Hex, hashTypedData, type PublicClient } from "viem";
import { OPS, type Session, sessionRequest, toJson } from "../agent";
import { formatLease } from "../chain";
import { formatAbsolute } from "../format";
import type { Group } from "./group";
import type { Place } from "./place";
import {
  addressIn,
  damaged,
  groupOfFile,
  messageIn,
  type ProposalFile,
  type Proposed,
  type Signatures,
  type SignTypedData,
  safeRequest,
  sameAddress,
  travelling,
  whole,
} from "./proposal";

export interface Access extends Proposed {
  readonly session: Session;
}

/** What a page does with a lease. */
export const LEASE_OPS = OPS.filter((op) => op !== "workload.put");

const WORDS: Readonly<Record<string, string>> = {
  "lease.status": "see how it is",
  "lease.logs": "read its log",
  "lease.metrics": "see its figures",
  "lease.results": "fetch its results",
  "lease.exec": "run any command in it, and so read and change all that is there",
};

export function accessOf({ pool }: Place, group: Group, session: Session): Access {
  return { group, session, digest: hashTypedData(sessionRequest(pool, session)) };
}

export function isAccess(file: ProposalFile): boolean {
  return file.kind === "session";
}

/** The session in a file. Throws a Problem for what nobody should sign, or what is not shown here. */
export async function readAccess(chain: PublicClient, place: Place, file: ProposalFile): Promise<Access> {
  const { account, key, leases, ops, expiresAt, ...on } = messageIn(place, file);
  if (Number(on.chain) !== place.pool.chainId || !sameAddress(on.controller, place.pool.controller)) {
    throw damaged("holds a session for another pool");
  }
  if (!Array.isArray(leases) || leases.length < 1) throw damaged("holds a session for all of the group's leases");
  const known =
    Array.isArray(ops) && ops.length > 0 && ops.every((op) => typeof op === "string" && Object.hasOwn(WORDS, op));
  if (!known) throw damaged("holds a session for what this page does not know");
  const whose = addressIn(account);
  const session: Session = {
    account: whose,
    chain: place.pool.chainId,
    controller: place.pool.controller,
    leases: leases.map(whole),
    ops,
    key: addressIn(key),
    expiresAt: Number(whole(expiresAt)),
  };
  return accessOf(place, await groupOfFile(chain, place, file, whose), session);
}

/** What it lets whom do, in words. */
export function accessSentence({ session }: Access): string {
  const leases = session.leases.map((lease) => formatLease(lease)).join(", ");
  const may = session.ops.map((op) => WORDS[op] ?? op);
  const last = may.pop();
  const acts = may.length ? `${may.join(", ")}, and ${last}` : last;
  return `Let one browser use lease ${leases} until ${formatAbsolute(session.expiresAt)}: ${acts}. It moves no money.`;
}

/** Every value that is signed, by name. */
export function accessRows({ session, digest }: Access): readonly (readonly [string, string])[] {
  return [
    ["account", session.account],
    ["key", session.key],
    ["leases", session.leases.map(String).join(", ")],
    ["ops", session.ops.join(", ")],
    ["expiresAt", String(session.expiresAt)],
    ["chain", String(session.chain)],
    ["controller", session.controller],
    ["digest", digest],
  ];
}

type Session712 = ReturnType<typeof sessionRequest>;
/** A wallet that signs either. */
export type SignAccess = SignTypedData & ((request: Session712) => Promise<Hex>);

/** One signer's proof. */
export async function signAccess(place: Place, access: Access, signTypedData: SignAccess): Promise<Hex> {
  const signature = access.group.safe
    ? await signTypedData(safeRequest(place, access))
    : await signTypedData(sessionRequest(place.pool, access.session));
  return concat(["0x01", signature]);
}

/** As it travels. */
export function accessFile(place: Place, access: Access, signatures: Signatures): object {
  return travelling(place, access.group, "session", toJson(access.session), signatures);
}
