/** A gateway turned hostile: it swaps what costs. Each time nothing is sealed, signed or sent. */
import {
  type Address,
  concat,
  createPublicClient,
  custom,
  decodeFunctionData,
  encodeEventTopics,
  encodeFunctionResult,
  type Hex,
  numberToHex,
  type PublicClient,
  parseAbi,
  toHex,
  zeroAddress,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { beforeEach, expect, test } from "vitest";
import { checkReceipt } from "../../src/agent";
import { domainOf, RECEIPT } from "../../src/agent/typed";
import { checkRemembered, openDeed, type Pool, quote, readPool, rememberInstead } from "../../src/chain";
import { controllerAbi } from "../../src/chain/generated/abi";
import { checkUnchanged } from "../../src/renting/renting";
import { cidOfDigest, readContact, sha256 } from "../../src/sealing";
import { vectors } from "./vectors";

const { machine, params, controller, chainId, recipient } = vectors;
const TOKEN: Address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const OTHER: Address = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65";
const pool: Pool = { chainId, controller, token: TOKEN, block: 1n, money: { symbol: "TUSD", decimals: 6 } };
const contact = new TextEncoder().encode(JSON.stringify({ version: 1, age_recipient: recipient, images: [] }));
const symbols = parseAbi(["function symbol() view returns (string)", "function decimals() view returns (uint8)"]);

/** A clone with arguments, as a pool is: its implementation, its token, four companions. */
function clone(token: Address): Hex {
  const parts = Array.from({ length: 4 }, () => zeroAddress);
  return concat(["0x363d3d373d3d3d363d73", OTHER, "0x5af43d82803e903d91602b57fd5bf3", token, ...parts]);
}

/** The reader's own node, which says the truth. */
let chain: PublicClient;
beforeEach(async () => {
  const digest = await sha256(contact);
  const request = async ({ method, params: asked }: { method: string; params?: unknown[] }) => {
    if (method === "eth_chainId") return numberToHex(chainId);
    if (method === "eth_getCode") return asked?.[0] === controller ? clone(TOKEN) : "0x";
    if (method === "eth_call") return called(((asked ?? [])[0] as { data: Hex }).data);
    if (method === "eth_getLogs") return [contactSet(digest)];
    throw new Error(`${method} was not expected`);
  };
  chain = createPublicClient({ transport: custom({ request }) });
});

function called(data: Hex): Hex {
  const { functionName } = decodeFunctionData({ abi: symbols, data });
  return functionName === "symbol"
    ? encodeFunctionResult({ abi: symbols, functionName, result: "TUSD" })
    : encodeFunctionResult({ abi: symbols, functionName, result: 6 });
}

function contactSet(digest: Hex) {
  const topics = encodeEventTopics({ abi: controllerAbi, eventName: "ContactSet", args: { machine: 7 } });
  const place = {
    blockNumber: "0x2",
    blockHash: digest,
    transactionHash: digest,
    transactionIndex: "0x0",
    logIndex: "0x0",
  };
  return { address: controller, topics, data: digest, removed: false, ...place };
}

const claimed = { chainId, controller, token: TOKEN, block: 1n };

test("the pool is what the chain has", async () => {
  expect(await readPool(chain, claimed)).toEqual(pool);
});

test("a gateway that names another token is refused", async () => {
  await expect(readPool(chain, { ...claimed, token: OTHER })).rejects.toMatchObject({ code: "token-swapped" });
});

test("a gateway that names a contract that is no pool is refused", async () => {
  await expect(readPool(chain, { ...claimed, controller: OTHER })).rejects.toMatchObject({ code: "no-pool" });
});

test("a gateway on another chain than the wallet is refused", async () => {
  await expect(readPool(chain, { ...claimed, chainId: 1 })).rejects.toMatchObject({ code: "wrong-network" });
});

test("a gateway that names another pool than yesterday is refused", () => {
  checkRemembered(pool, localStorage, true);
  checkRemembered(pool, localStorage, true);
  expect(() => checkRemembered({ ...pool, controller: OTHER }, localStorage, true)).toThrow(
    expect.objectContaining({ code: "pool-swapped" }),
  );
});

test.each([{ controller: OTHER }, { token: OTHER }, { chainId: 1 }])("%o alone makes another pool of it", (change) => {
  checkRemembered(pool, localStorage, true);
  expect(() => checkRemembered({ ...pool, ...change }, localStorage, true)).toThrow(
    expect.objectContaining({ before: expect.objectContaining({ controller, token: TOKEN, chainId }) }),
  );
});

test("who changes to another pool changes to that one, and a third is refused again", () => {
  checkRemembered(pool, localStorage, true);
  rememberInstead({ ...pool, controller: OTHER }, localStorage);
  expect(() => checkRemembered({ ...pool, controller: OTHER }, localStorage, true)).not.toThrow();
  expect(() => checkRemembered({ ...pool, controller: TOKEN }, localStorage, false)).toThrow(
    expect.objectContaining({ code: "pool-swapped", before: expect.objectContaining({ controller: OTHER }) }),
  );
});

test("a pool that only a gateway vouches for is not remembered", () => {
  checkRemembered({ ...pool, controller: OTHER }, localStorage, false);
  expect(() => checkRemembered(pool, localStorage, true)).not.toThrow();
});

test("the sealing key is that of the document which the chain names", async () => {
  const asked: string[] = [];
  const read = await readContact(chain, pool, 7, async (cid) => {
    asked.push(cid);
    return contact;
  });
  expect(read.recipient).toBe(recipient);
  expect(asked).toEqual([cidOfDigest(await sha256(contact))]);
});

test("a gateway that swaps the machine's sealing key is refused", async () => {
  const swapped = new TextEncoder().encode(
    new TextDecoder().decode(contact).replace(recipient, `age1${"q".repeat(58)}`),
  );
  await expect(readContact(chain, pool, 7, async () => swapped)).rejects.toMatchObject({ code: "document-swapped" });
});

const wish = { share: 8, duration: 3_600, allowUnverified: false, spot: false };
const funds = { ledger: 0n, wallet: 10n ** 12n, allowance: 0n };

test.each([
  ["a lower price shown than the chain asks", { terms: { ...machine.terms, price: 1n } }],
  ["a higher one", { terms: { ...machine.terms, price: 10n ** 9n } }],
  ["terms of another revision", { revision: machine.revision + 1 }],
])("%s is refused before the wallet opens", (_, change) => {
  const shown = quote({ ...machine, ...change }, params, wish, funds);
  expect(() => checkUnchanged(shown, quote(machine, params, wish, funds))).toThrow(
    expect.objectContaining({ code: "price-changed" }),
  );
});

test("what is signed names the pool, the price that was shown at most, and the workload", () => {
  const offer = quote(machine, params, wish, funds);
  const workload = toHex("w", { size: 32 });
  const deed = openDeed(pool, offer, workload, null);
  const call = decodeFunctionData({ abi: controllerAbi, data: deed.data });
  expect(deed.to).toBe(controller);
  expect(call.functionName).toBe("open");
  expect(call.args?.[0]).toMatchObject({ machine: 7, revision: machine.revision, maxPrice: offer.price, workload });
});

const operator = privateKeyToAccount(vectors.key as unknown as Hex);
const NOW = 1_800_000_000;
const digest = toHex("d", { size: 32 });

async function receiptOf(change: object = {}) {
  const receipt = { chain: chainId, controller, machine: 7, digest, expiresAt: NOW + 60, ...change };
  const message = { ...receipt, chain: BigInt(receipt.chain), expiresAt: BigInt(receipt.expiresAt) };
  const types = { Receipt: RECEIPT };
  const signature = await operator.signTypedData({ domain: domainOf(pool), types, primaryType: "Receipt", message });
  return { receipt, signature };
}

test("a receipt that the machine's operator signed is taken", async () => {
  await checkReceipt(await receiptOf(), pool, 7, digest, operator.address, NOW);
});

test.each([
  ["of somebody else", {}, OTHER],
  ["for another machine", { machine: 8 }, null],
  ["for another workload", { digest: toHex("e", { size: 32 }) }, null],
  ["of another pool", { controller: OTHER }, null],
  ["of before", { expiresAt: NOW }, null],
])("a receipt %s opens no lease", async (_, change, signer) => {
  const check = checkReceipt(await receiptOf(change), pool, 7, digest, signer ?? operator.address, NOW);
  await expect(check).rejects.toMatchObject({ code: "bad-receipt" });
});
