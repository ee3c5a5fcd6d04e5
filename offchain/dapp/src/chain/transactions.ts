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
import { included } from "./inclusion";
import { orNull } from "./missing";
import type { Head } from "./types";

/** Where a transaction is. `mined` may still be undone by a reorganisation; `final` may not. */
export type Stage =
  | { readonly kind: "signing" }
  | { readonly kind: "pending"; readonly hash: Hex }
  | { readonly kind: "mined"; readonly hash: Hex; readonly receipt: TransactionReceipt }
  | { readonly kind: "final"; readonly hash: Hex; readonly receipt: TransactionReceipt };

/**
 * What is told of one that a gateway sends. `fee`: the reader is asked whether it is worth the amount, out of the ledger into
 * the payee's; with no, the wallet is to send it itself. `handed`: the gateway has what was signed.
 */
export type GaslessStage =
  | Stage
  | { readonly kind: "handed" }
  | { readonly kind: "fee"; readonly amount: string; readonly payee: Address; readonly agree: (yes: boolean) => void };

/**
 * Who signs: an account of a wallet, by the wallet's own provider. `gasless`: how else it is sent where the account has no
 * coin for gas; null where it is to go the usual way.
 */
export interface Sender {
  readonly account: Address;
  readonly provider: EIP1193Provider;
  readonly gasless?: (deed: Deed, tell: (stage: GaslessStage) => void) => Promise<TransactionReceipt | null>;
}

/** Sends the deed and tells each stage up to `mined`; the receipt. Throws a Problem. */
export async function send(
  deed: Deed,
  sender: Sender,
  chain: PublicClient,
  tell: (stage: GaslessStage) => void,
  money?: Money,
): Promise<TransactionReceipt> {
  try {
    const otherwise = await sender.gasless?.(deed, tell);
    if (otherwise) return otherwise;
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
  const receipt = await included(chain, hash);
  if (receipt.status === "reverted") {
    throw new Problem(
      "transaction-failed",
      "The transaction was mined, and the contract refused it: something changed in between.",
      "Nothing moved but the gas. Look again and send it anew.",
    );
  }
  return receipt;
}

/**
 * What has become of a transaction that was sent. `waiting`: it is in no block now, and may be mined yet. `gone`: the node
 * does not know it. `refused`: it is in a block, and the contract said no.
 */
export type Fate =
  | { readonly kind: "final" | "mined" | "refused"; readonly receipt: TransactionReceipt }
  | { readonly kind: "waiting" | "gone" };

/** By the node's present chain, whatever it said before: a reorganisation may have undone it, or mined it again. */
export async function fateOf(chain: PublicClient, hash: Hex): Promise<Fate> {
  const receipt = await orNull(chain.getTransactionReceipt({ hash }), "TransactionReceiptNotFoundError");
  if (receipt === null) {
    const known = await orNull(chain.getTransaction({ hash }), "TransactionNotFoundError");
    return { kind: known === null ? "gone" : "waiting" };
  }
  if (receipt.status === "reverted") return { kind: "refused", receipt };
  const final = await chain.getBlock({ blockTag: "finalized" }).catch(() => null);
  return { kind: final !== null && final.number >= receipt.blockNumber ? "final" : "mined", receipt };
}

/** Whether a block that the node once named is no longer the chain's. One that a node behind lacks says nothing. */
export async function undone(chain: PublicClient, seen: Head): Promise<boolean> {
  const block = await orNull(chain.getBlock({ blockNumber: seen.number }), "BlockNotFoundError");
  return block !== null && block.hash !== seen.hash;
}
