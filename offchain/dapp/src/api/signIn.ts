/**
 * Signing in to the gateway (EIP-4361): it keeps uploads for accounts, and hands out their results.
 *
 * What is signed names the page, as wallets compare it, and the gateway that is asked: one that hands on another's nonce
 * gets a message that signs nobody in there.
 */
import { type Address, isAddressEqual } from "viem";
import { Problem } from "../problem";
import { gateway, gatewayAddress } from "./gateway";
import {
  checkOwnOrigin,
  forgetToken,
  isElsewhere,
  keepToken,
  keptToken,
  type Place,
  type SignedIn,
} from "./pageSession";

/** Signs a text, as wallets do (EIP-191). */
export type SignText = (text: string) => Promise<string>;

/**
 * Signs the account in, unless it is. What is signed names this page and its gateway alone, and moves nothing.
 *
 * Throws a Problem, also where the page came from elsewhere and its gateway signs nobody in from there.
 */
export async function signIn(account: Address, sign: SignText, place: Place = location): Promise<void> {
  const address = gatewayAddress();
  const elsewhere = isElsewhere(address, place);
  if (elsewhere) checkOwnOrigin(place);
  const now = await signedIn();
  if (now !== null && isAddressEqual(now.account, account)) return;
  const { nonce, chain_id: chain } = await gateway.get<{ nonce: string; chain_id: number }>("session/nonce");
  const message = signInMessage(account, place.host, new URL(address).origin, chain, nonce, new Date());
  const signature = await sign(message);
  const made = await gateway.post<SignedIn & { readonly token?: unknown }>("session", { message, signature });
  if (!isAddressEqual(made.account, account)) {
    throw new Problem("wrong-account", "The gateway has signed in somebody else.", "Use another gateway.");
  }
  if (elsewhere) keepToken(address, made.token);
}

/** Who is signed in at the gateway, or null. Throws a Problem: nobody can from this page. */
export async function signedIn(): Promise<SignedIn | null> {
  try {
    return await gateway.get<SignedIn>("session");
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.code === "foreign-origin") throw foreign(error);
    if (error.code !== "not-signed-in") throw error;
    forgetToken(gatewayAddress());
    return null;
  }
}

/** Whether asking who is signed in can come to anything: a page from elsewhere knows when nobody is. */
export function mayBeSignedIn(): boolean {
  const address = gatewayAddress();
  return !isElsewhere(address) || keptToken(address) !== null;
}

/** Ends the session, at the gateway and here. Throws a Problem; here it is over all the same, if the page is from elsewhere. */
export async function signOut(): Promise<void> {
  try {
    await gateway.send("DELETE", "session");
  } finally {
    forgetToken(gatewayAddress());
  }
}

function foreign(cause: Problem): Problem {
  return new Problem(
    "foreign-gateway",
    "This page came from elsewhere than from its gateway, which signs nobody in from there.",
    "Open the gateway's own address for this, or use one that lets this page sign in.",
    { cause },
  );
}

/** The text that the wallet shows. Throws a Problem for a nonce that would write more lines than its own. */
export function signInMessage(
  account: Address,
  host: string,
  site: string,
  chain: number,
  nonce: string,
  now: Date,
): string {
  if (!/^[A-Za-z0-9]{8,128}$/.test(nonce) || !Number.isSafeInteger(chain)) {
    throw new Problem("gateway-confused", "The gateway would have something odd signed.", "Use another gateway.");
  }
  const named = new URL(site).host === host ? "this gateway" : `the gateway at ${new URL(site).host}`;
  return [
    `${host} wants you to sign in with your Ethereum account:`,
    account,
    "",
    `Let ${named} keep your uploads and hand you your results. It moves no money.`,
    "",
    `URI: ${site}`,
    "Version: 1",
    `Chain ID: ${chain}`,
    `Nonce: ${nonce}`,
    `Issued At: ${now.toISOString()}`,
  ].join("\n");
}
