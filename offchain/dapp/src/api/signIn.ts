/** Signing in to the gateway that served the page (EIP-4361): it keeps uploads for accounts, and hands out their results. */
import { type Address, isAddressEqual } from "viem";
import { Problem } from "../problem";
import { gateway, gatewayAddress } from "./gateway";

interface SignedIn {
  readonly account: Address;
  readonly expires_at: number;
}

/** Signs a text, as wallets do (EIP-191). */
export type SignText = (text: string) => Promise<string>;

/**
 * Signs the account in, unless it is. What is signed names this site alone, and moves nothing.
 *
 * Throws a Problem, also where the page came from elsewhere: no browser hands a session to another site.
 */
export async function signIn(
  account: Address,
  sign: SignText,
  place: Pick<Location, "origin" | "host"> = location,
): Promise<void> {
  if (new URL(gatewayAddress()).origin !== place.origin) {
    throw new Problem(
      "foreign-gateway",
      "This page came from elsewhere than from its gateway, which signs nobody in from there.",
      "Open the gateway's own address for this.",
    );
  }
  if (await isSignedIn(account)) return;
  const { nonce, chain_id: chain } = await gateway.get<{ nonce: string; chain_id: number }>("session/nonce");
  const message = signInMessage(account, place, chain, nonce, new Date());
  const signature = await sign(message);
  const made = (await (await gateway.send("POST", "session", { body: { message, signature } })).json()) as SignedIn;
  if (!isAddressEqual(made.account, account)) {
    throw new Problem("wrong-account", "The gateway has signed in somebody else.", "Use another gateway.");
  }
}

async function isSignedIn(account: Address): Promise<boolean> {
  try {
    return isAddressEqual((await gateway.get<SignedIn>("session")).account, account);
  } catch (error) {
    if (error instanceof Problem && error.code === "not-signed-in") return false;
    throw error;
  }
}

/** The text that the wallet shows. Throws a Problem for a nonce that would write more lines than its own. */
export function signInMessage(
  account: Address,
  { origin, host }: Pick<Location, "origin" | "host">,
  chain: number,
  nonce: string,
  now: Date,
): string {
  if (!/^[A-Za-z0-9]{8,128}$/.test(nonce) || !Number.isSafeInteger(chain)) {
    throw new Problem("gateway-confused", "The gateway would have something odd signed.", "Use another gateway.");
  }
  return [
    `${host} wants you to sign in with your Ethereum account:`,
    account,
    "",
    "Let this gateway keep your uploads and hand you your results. It moves no money.",
    "",
    `URI: ${origin}`,
    "Version: 1",
    `Chain ID: ${chain}`,
    `Nonce: ${nonce}`,
    `Issued At: ${now.toISOString()}`,
  ].join("\n");
}
