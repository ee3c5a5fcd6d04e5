/** The groups that this browser knows, per network: who signs in them, never a secret. Each is worked out anew when read. */
import { type Address, getAddress, type Hex, isAddress, isHex } from "viem";
import type { Memory } from "../chain";
import { type Group, makeGroup } from "./group";
import type { Place } from "./place";

/** A Safe is known by its address alone: who owns it, the chain says. */
export type KnownGroup = Group | { readonly account: Address; readonly safe: true };

const MOST = 50;

interface Kept {
  readonly safe?: unknown;
  readonly threshold?: unknown;
  readonly signers?: unknown;
  readonly salt?: unknown;
}

/** The groups that were kept, the newest first. What cannot be read is left out. */
export function knownGroups(place: Place, memory: Memory): readonly KnownGroup[] {
  return read(place, memory).flatMap((kept) => {
    try {
      return [groupIn(place, kept)];
    } catch {
      return [];
    }
  });
}

/** Keeps a group in front of the others. */
export function keepGroup(place: Place, memory: Memory, group: Group): void {
  const { account, threshold, signers, salt, safe } = group;
  const others = read(place, memory).filter((kept) => accountOf(place, kept) !== account);
  const kept: Kept = safe ? { safe: account } : { threshold, signers, salt };
  memory.setItem(key(place), JSON.stringify([kept, ...others].slice(0, MOST)));
}

function read(place: Place, memory: Memory): readonly Kept[] {
  try {
    const kept: unknown = JSON.parse(memory.getItem(key(place)) ?? "[]");
    return Array.isArray(kept) ? kept.filter((each) => typeof each === "object" && each !== null) : [];
  } catch {
    return [];
  }
}

function accountOf(place: Place, kept: Kept): Address | null {
  try {
    return groupIn(place, kept).account;
  } catch {
    return null;
  }
}

function groupIn(place: Place, { safe, threshold, signers, salt }: Kept): KnownGroup {
  if (typeof safe === "string" && isAddress(safe)) return { account: getAddress(safe), safe: true };
  if (!Array.isArray(signers) || !isHex(salt)) throw new Error("it is no group");
  return makeGroup(place.accounts, Number(threshold), signers.map(String), salt as Hex);
}

function key({ pool, accounts }: Place): string {
  return `leasehold.groups.${pool.chainId}-${accounts}`.toLowerCase();
}
