/**
 * The session of a page that came from elsewhere than from its gateway: no browser keeps another site's cookie for it, so
 * it is a token of this tab. It goes to that gateway alone, in a header, and never in an address.
 */
import type { Address } from "viem";
import { Problem } from "../problem";

export interface SignedIn {
  readonly account: Address;
  /** Unix seconds. */
  readonly expires_at: number;
}

export type Place = Pick<Location, "origin" | "host" | "pathname">;

const PREFIX = "leasehold.signed-in.";
const TOKEN = /^leasehold-page-[A-Za-z0-9_-]{43}$/;
/** How gateways for IPFS write addresses under which all sites have one origin. */
const SHARED = /^\/ip[fn]s\//;

/** Whether the page came from elsewhere than from that gateway. */
export function isElsewhere(gateway: string, place: Place = location): boolean {
  return new URL(gateway).origin !== place.origin;
}

/** Throws a Problem where other sites share the page's origin, or it has none: they could read what a tab keeps, and have
 * signed what names this page. */
export function checkOwnOrigin(place: Place): void {
  if (place.origin !== "null" && /^https?:/.test(place.origin) && !SHARED.test(place.pathname)) return;
  throw new Problem(
    "shared-origin",
    "This page shares its address with every other site that came the same way, and signs nobody in here.",
    "Open it under a name of its own, such as https://CID.ipfs.dweb.link, or at the gateway's own address.",
  );
}

/** The token by which this tab is signed in at that gateway, or null. */
export function keptToken(gateway: string, place?: Place): string | null {
  if (!isElsewhere(gateway, place)) return null;
  const token = sessionStorage.getItem(PREFIX + gateway);
  return token !== null && TOKEN.test(token) ? token : null;
}

/** Throws a Problem for what is no token. */
export function keepToken(gateway: string, token: unknown): void {
  if (typeof token !== "string" || !TOKEN.test(token)) {
    throw new Problem("gateway-confused", "The gateway gave this page no session that is one.", "Use another gateway.");
  }
  sessionStorage.setItem(PREFIX + gateway, token);
}

export function forgetToken(gateway: string): void {
  sessionStorage.removeItem(PREFIX + gateway);
}
