/** What was sent is waited for until it is in a block, whatever a node says or fails with meanwhile. */
import { type Address, createPublicClient, custom, type Hex, type PublicClient, toHex, zeroHash } from "viem";
import { beforeEach, expect, test, vi } from "vitest";
import { included } from "../../src/chain/inclusion";

const ME: Address = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F";
const POOL: Address = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
const HASH = toHex(1, { size: 32 });
const DEARER = toHex(2, { size: 32 });

/** What a node says. A test changes it between two looks. */
interface Node {
  head: number;
  mined: Hex[];
  pooled: boolean;
  count: number;
  input: Hex;
  fails: boolean;
}
let node: Node;

beforeEach(() => {
  node = { head: 7, mined: [], pooled: true, count: 3, input: "0xab", fails: false };
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

function chain(): PublicClient {
  const request = async ({ method, params }: { method: string; params?: unknown[] }): Promise<unknown> => {
    const [first] = params ?? [];
    if (node.fails && method !== "eth_blockNumber") throw new Error("the node has gone");
    switch (method) {
      case "eth_blockNumber":
        return toHex(node.head);
      case "eth_getTransactionCount":
        return toHex(node.count);
      case "eth_getTransactionByHash":
        return node.pooled ? transaction(HASH, "0xab") : null;
      case "eth_getTransactionReceipt":
        return node.mined.includes(first as Hex) ? receipt(first as Hex) : null;
      case "eth_getBlockByNumber":
        return block(Number(first));
    }
    throw new Error(`${method} was not expected`);
  };
  return createPublicClient({ transport: custom({ request }, { retryCount: 0 }), pollingInterval: 1_000 });
}

function transaction(hash: Hex, input: Hex) {
  const gas = { gas: "0x1", gasPrice: "0x1", maxFeePerGas: "0x1", maxPriorityFeePerGas: "0x1", value: "0x0" };
  return { hash, from: ME, to: POOL, nonce: "0x3", input, type: "0x2", ...gas, blockNumber: null };
}

function block(number: number) {
  const transactions = number === node.head ? node.mined.map((hash) => transaction(hash, node.input)) : [];
  return { number: toHex(number), hash: zeroHash, timestamp: "0x1", transactions, baseFeePerGas: "0x1" };
}

function receipt(hash: Hex) {
  const place = { blockNumber: "0x8", blockHash: zeroHash, transactionHash: hash, transactionIndex: "0x0" };
  const gas = { gasUsed: "0x1", cumulativeGasUsed: "0x1", effectiveGasPrice: "0x1" };
  return { ...place, ...gas, from: ME, to: POOL, status: "0x1", type: "0x2", logs: [], logsBloom: "0x" };
}

const waited = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1_000);

test("a receipt that comes after the block's number is found on a chain that rests from then on", async () => {
  const found = included(chain(), HASH);
  await waited(1);
  Object.assign(node, { head: 8, count: 4 });
  await waited(2);
  node.mined = [HASH];
  await waited(2);
  expect((await found).transactionHash).toBe(HASH);
});

test("a node that fails meanwhile ends no wait for what was sent", async () => {
  const found = included(chain(), HASH);
  node.fails = true;
  await waited(30);
  Object.assign(node, { fails: false, mined: [HASH] });
  await waited(2);
  expect((await found).transactionHash).toBe(HASH);
});

test("the same that pays more is found in its place", async () => {
  const found = included(chain(), HASH);
  await waited(2);
  Object.assign(node, { head: 9, pooled: false, mined: [DEARER], count: 4 });
  await waited(2);
  expect((await found).transactionHash).toBe(DEARER);
});

test("what a wallet sends to take it back is not what was shown", async () => {
  const found = expect(included(chain(), HASH)).rejects.toMatchObject({ code: "replaced", details: DEARER });
  await waited(2);
  Object.assign(node, { head: 9, pooled: false, mined: [DEARER], count: 4, input: "0x" });
  await waited(2);
  await found;
});

test("what is in no block for ten minutes is said to have been sent all the same", async () => {
  const found = expect(included(chain(), HASH)).rejects.toMatchObject({
    code: "not-mined-yet",
    message: "The transaction was sent, and is in no block after 10 minutes.",
    details: HASH,
  });
  await waited(601);
  await found;
});
