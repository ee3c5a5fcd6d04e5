/**
 * A transaction from the wallet's window to where nobody can undo it: signing, pending, mined, final; or why not.
 *
 * What the contracts would refuse is found out before the wallet opens, by a call: it costs nothing, and says it in words.
 */
import type { Address, EIP1193Provider, Hex, PublicClient, TransactionReceipt } from "viem";
import type { Money } from "../format";
import { Problem } from "../problem";
import type { Deed } from "./deeds";
import { problemOf } from "./failures";

/** Where a transaction is. `mined` may still be undone by a reorganisation; `final` may not. */
export type Stage =
  | { readonly kind: "signing" }
  | { readonly kind: "pending"; readonly hash: Hex }
  | { readonly kind: "mined"; readonly hash: Hex; readonly receipt: TransactionReceipt }
  | { readonly kind: "final"; readonly hash: Hex; readonly receipt: TransactionReceipt };

/** Who signs: an account of a wallet, by the wallet's own provider. */
export interface Sender {
  readonly account: Address;
  readonly provider: EIP1193Provider;
}

const POLL = 1_000;
const MOST_SECONDS = 600;

/** Sends the deed and tells each stage up to `mined`; the receipt. Throws a Problem. */
export async function send(
  deed: Deed,
  sender: Sender,
  chain: PublicClient,
  tell: (stage: Stage) => void,
  money?: Money,
): Promise<TransactionReceipt> {
  try {
    await chain.call({ account: sender.account, to: deed.to, data: deed.data });
    tell({ kind: "signing" });
    const hash = await sender.provider.request({
      method: "eth_sendTransaction",
      params: [{ from: sender.account, to: deed.to, data: deed.data }],
    });
    tell({ kind: "pending", hash });
    const receipt = await mined(chain, hash);
    tell({ kind: "mined", hash, receipt });
    return receipt;
  } catch (error) {
    throw problemOf(error, "this transaction", money);
  }
}

async function mined(chain: PublicClient, hash: Hex): Promise<TransactionReceipt> {
  const receipt = await chain.waitForTransactionReceipt({ hash, pollingInterval: POLL, timeout: MOST_SECONDS * 1000 });
  if (receipt.status === "reverted") {
    throw new Problem(
      "transaction-failed",
      "The transaction was mined, and the contract refused it: something changed in between.",
      "Nothing moved but the gas. Look again and send it anew.",
    );
  }
  return receipt;
}

/** Whether a mined transaction is final now, still mined, or gone with a block that is no longer the chain's. */
export async function standing(
  chain: PublicClient,
  receipt: TransactionReceipt,
): Promise<"mined" | "final" | "undone"> {
  const block = await chain.getBlock({ blockNumber: receipt.blockNumber }).catch(() => null);
  if (block?.hash !== receipt.blockHash) return "undone";
  const final = await chain.getBlock({ blockTag: "finalized" }).catch(() => null);
  return final !== null && final.number >= receipt.blockNumber ? "final" : "mined";
}
