/** The link by which signers are invited: which account, and who signs for it. Nothing in it is secret or believed. */
import { type Address, getAddress, isAddress, isHex, zeroHash } from "viem";
import { Problem } from "../problem";
import { type Group, makeGroup } from "./group";
import type { Place } from "./place";

/** The route of a group's page; `proposal`: of one thing that it is asked to sign. A Safe needs no more than its address. */
export function routeOf(group: Group, proposal?: string): string {
  const path = `/groups/${group.account}${proposal === undefined ? "" : `/${proposal}`}`;
  if (group.safe) return `${path}?safe=1`;
  const salt = group.salt === zeroHash ? {} : { salt: group.salt };
  return `${path}?${new URLSearchParams({ of: String(group.threshold), signers: group.signers.join(), ...salt })}`;
}

/** The whole link, to this app as it was opened here. */
export function linkOf(group: Group, proposal?: string): string {
  return `${document.baseURI.split("#")[0]}#${routeOf(group, proposal)}`;
}

/** The address that a link names. Throws a Problem. */
export function accountIn(text: string | undefined): Address {
  if (text === undefined || !isAddress(text)) {
    throw new Problem("invalid-address", `“${text ?? ""}” is no group's address.`, "Ask for the link again.");
  }
  return getAddress(text);
}

/** The group that a link tells of, or null where it tells only the address. Throws a Problem where they differ. */
export function groupInLink(place: Place, account: Address, said: URLSearchParams): Group | null {
  const signers = said.get("signers");
  if (signers === null) return null;
  const salt = said.get("salt") ?? zeroHash;
  if (!isHex(salt)) throw new Problem("no-such-group", "The link's salt is none.", "Ask for it again.");
  return checked(account, makeGroup(place.accounts, Number(said.get("of")), signers.split(","), salt));
}

/** The group, if it is the account that was asked for. Throws a Problem for another. */
export function checked(account: Address, group: Group): Group {
  if (group.account === account) return group;
  throw new Problem(
    "wrong-group",
    `These signers make the account ${group.account}, and not ${account}.`,
    "Do not pay into it, and sign nothing of it: ask who sent the link.",
  );
}
