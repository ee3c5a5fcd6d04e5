/**
 * Waiting for a transaction that was sent to come into a block.
 *
 * Its receipt is asked for at every turn, and not with every new block alone, as viem's `waitForTransactionReceipt` does:
 * who looks just before the receipt is there waits for another block, which on a chain that rests does not come. Nothing
 * that a node fails with meanwhile ends the wait: the transaction is sent, and would be sent twice by whoever is told that
 * it was not.
 */
import { type Hex, isAddressEqual, type PublicClient, type Transaction, type TransactionReceipt } from "viem";
import { Problem } from "../problem";
import { orNull } from "./missing";

const MOST_SECONDS = 600;
/** In which a transaction is looked for that took the place of another. */
const MOST_BLOCKS = 64n;

/**
 * The receipt of a transaction, or of one that says the same and took its place: a wallet may pay more for it meanwhile.
 * Throws a Problem where another took its place, or where it is in no block after ten minutes.
 */
export async function included(chain: PublicClient, hash: Hex): Promise<TransactionReceipt> {
  const sought = new Sought(chain, hash);
  for (const until = Date.now() + MOST_SECONDS * 1_000; Date.now() < until; await pause(chain.pollingInterval)) {
    const receipt = await sought.look().catch((error: unknown) => {
      if (error instanceof Problem) throw error;
      return null;
    });
    if (receipt !== null) return receipt;
  }
  throw new Problem(
    "not-mined-yet",
    `The transaction was sent, and is in no block after ${MOST_SECONDS / 60} minutes.`,
    "It may still be mined: look for it in your wallet before you do this again.",
    { details: hash },
  );
}

class Sought {
  private sent: Transaction | null = null;
  private since = 0n;

  constructor(
    private readonly chain: PublicClient,
    private readonly hash: Hex,
  ) {}

  async look(): Promise<TransactionReceipt | null> {
    const receipt = await this.receiptOf(this.hash);
    if (receipt !== null) return receipt;
    if (this.sent === null) {
      this.since = await this.chain.getBlockNumber({ cacheTime: 0 });
      this.sent = await orNull(this.chain.getTransaction({ hash: this.hash }), "TransactionNotFoundError");
      return null;
    }
    const { from, nonce } = this.sent;
    const count = await this.chain.getTransactionCount({ address: from });
    return count > nonce ? await this.instead(this.sent) : null;
  }

  /** Its number is used: by it, whose receipt is not there yet, or by another. */
  private async instead(sent: Transaction): Promise<TransactionReceipt | null> {
    const head = await this.chain.getBlockNumber({ cacheTime: 0 });
    const first = head - MOST_BLOCKS > this.since ? head - MOST_BLOCKS : this.since;
    for (let blockNumber = first; blockNumber <= head; blockNumber += 1n) {
      const { transactions } = await this.chain.getBlock({ blockNumber, includeTransactions: true });
      const found = transactions.find(({ from, nonce }) => nonce === sent.nonce && isAddressEqual(from, sent.from));
      if (found === undefined) continue;
      if (found.input === sent.input && found.to === sent.to) return await this.receiptOf(found.hash);
      throw new Problem(
        "replaced",
        "Your wallet has sent another transaction in this one's place.",
        "What was shown here has not happened.",
        { details: found.hash },
      );
    }
    return null;
  }

  private async receiptOf(hash: Hex): Promise<TransactionReceipt | null> {
    return await orNull(this.chain.getTransactionReceipt({ hash }), "TransactionReceiptNotFoundError");
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
