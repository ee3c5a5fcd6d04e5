/**
 * A page asks its group for a session with a lease's agent, and opens it once enough have signed. The key is made here,
 * lies in this tab alone, and ends with the session; what comes back from the gateway counts only for that very key.
 */
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { type Keep, type Session, type SessionKey, toJson } from "../agent";
import { formatLease, readHead } from "../chain";
import { type Access, accessOf, LEASE_OPS, type SignAccess, signAccess } from "./access";
import { bring, type Gathered } from "./gathering";
import type { Place } from "./place";
import { proofOf } from "./proposal";
import type { ProposingHands } from "./proposing";

/** As long as others may take to sign, and what was opened is good for. */
const SECONDS = 86_400;
const PREFIX = "leasehold.session.group.";

/** What a tab has asked for. `proof`: the group's, once it is whole. */
export interface AskedAccess {
  readonly session: Session;
  readonly privateKey: SessionKey["privateKey"];
  readonly proof: SessionKey["proof"] | null;
}

export interface AskingHands extends Omit<ProposingHands, "signTypedData"> {
  readonly signTypedData: SignAccess;
  readonly keep: Keep;
}

/** Asks the group for a session of that lease: signs it as the member, and brings it to where the others find it. */
export async function askForAccess(hands: AskingHands, lease: bigint): Promise<AskedAccess> {
  const { chain, place, group, member, keep } = hands;
  const { time } = await readHead(chain);
  const privateKey = generatePrivateKey();
  const session: Session = {
    account: group.account,
    chain: place.pool.chainId,
    controller: place.pool.controller,
    leases: [lease],
    ops: LEASE_OPS,
    key: privateKeyToAccount(privateKey).address,
    expiresAt: time + SECONDS,
  };
  const access = accessOf(place, group, session);
  hands.tell("Signing as one of the group's");
  const proof = await signAccess(place, access, hands.signTypedData);
  const asked = { session, privateKey, proof: null };
  keepAccess(place, asked, keep); // before it leaves: what the others sign is good for this key alone
  hands.tell("Bringing it to the gateway, where the others find it");
  await bring(place, { proposal: access, signatures: new Map([[member, proof]]) });
  return asked;
}

/** What this tab has asked for of the lease, if that has not ended. `now`: unix seconds. */
export function askedAccess(place: Place, account: string, lease: bigint, keep: Keep, now: number): AskedAccess | null {
  try {
    const asked = JSON.parse(keep.getItem(nameOf(place, account, lease)) ?? "") as AskedAccess;
    const session = { ...asked.session, leases: asked.session.leases.map(BigInt) };
    return session.expiresAt > now ? { ...asked, session } : null;
  } catch {
    return null;
  }
}

export function keepAccess(place: Place, asked: AskedAccess, keep: Keep): void {
  const [lease] = asked.session.leases;
  if (lease === undefined) return;
  const text = JSON.stringify({ ...asked, session: toJson(asked.session) });
  keep.setItem(nameOf(place, asked.session.account, lease), text);
}

/** With the group's proof where enough have signed for this very key, else as it was. */
export function openedAccess(asked: AskedAccess, { proposal, signatures }: Gathered<Access>): AskedAccess {
  const { session, group } = proposal;
  if (session.key !== asked.session.key || signatures.size < group.threshold) return asked;
  return { ...asked, proof: proofOf(proposal, signatures) };
}

function nameOf({ pool }: Place, account: string, lease: bigint): string {
  return `${PREFIX}${pool.chainId}-${pool.controller}-${account}-${formatLease(lease)}`.toLowerCase();
}
