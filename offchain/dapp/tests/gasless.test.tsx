/** Paying for gas in tokens: what the wallet signs is what was shown, whatever a gateway answers. */
import {
  type Address,
  createPublicClient,
  custom,
  decodeFunctionData,
  encodeEventTopics,
  encodeFunctionData,
  encodeFunctionResult,
  type Hex,
  numberToHex,
  type PublicClient,
  recoverTypedDataAddress,
  toHex,
} from "viem";
import { beforeEach, expect, test, vi } from "vitest";
import type { Deed, GaslessStage } from "../src/chain";
import { controllerAbi } from "../src/chain/generated/abi";
import { type GaslessHands, sendGasless } from "../src/gasless";
import type { executionRequest } from "../src/groups";
import { accountsAbi } from "../src/groups/generated/accounts";
import { ACCOUNTS, pool, STRANGER, signers } from "./groups/given";

const [renter] = signers as [(typeof signers)[0]];
const PAYEE: Address = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65";
const HASH = toHex(7, { size: 32 });
const withdraw = (amount: bigint): Hex =>
  encodeFunctionData({ abi: controllerAbi, functionName: "withdraw", args: [renter.address, amount] });
const deed: Deed = { words: "Withdraw 1 TUSD.", to: pool.controller, data: withdraw(1_000_000n) };

type Request = ReturnType<typeof executionRequest>;
/** What came to the gateway, and what the wallet was asked for. */
let posted: Record<string, unknown>[];
let signed: Request[];
let stages: GaslessStage[];
/** What the chain has: the account's coins, and the transaction in which something was done. */
let coins: bigint;
let done: Hex | null;
let refuses: string | null;
/** The next nonce of the row, and the time of the newest block. */
let nonce: bigint;
let time: number;

function gatewayThat(answers: Partial<Record<"quote" | "sent", () => Response>> = {}): void {
  const quote = answers.quote ?? (() => Response.json({ fee: "21300", payee: PAYEE, gas: 300_000, valid_until: 1 }));
  const sent = answers.sent ?? (() => Response.json({ transaction: HASH, block: 9 }));
  vi.stubGlobal("fetch", async (address: string, { body }: { body?: string } = {}) => {
    const path = new URL(address).pathname.replace(/^.*\/api\/v1\//, "");
    if (path === "gasless/quotes") return quote();
    if (body === undefined) return Response.json({ payee: PAYEE, sender: STRANGER, most_seconds: 720 });
    posted.push(JSON.parse(body));
    return sent();
  });
}

function given(agrees = true): GaslessHands {
  const tell = (stage: GaslessStage): void => {
    stages.push(stage);
    if (stage.kind === "fee") stage.agree(agrees);
  };
  const signTypedData = async (request: Request): Promise<Hex> => {
    signed.push(request);
    return await renter.signTypedData(request);
  };
  return { chain: chain(), pool, account: renter.address, signTypedData, tell, pause: async () => {} };
}

function chain(): PublicClient {
  const block = { number: "0x9", timestamp: numberToHex(time), hash: HASH, transactions: [], uncles: [] };
  const request = async ({ method, params }: { method: string; params?: unknown[] }): Promise<unknown> => {
    if (method === "eth_getBalance") return numberToHex(coins);
    if (method === "eth_gasPrice") return "0x3b9aca00";
    if (method === "eth_getBlockByNumber") return block;
    if (method === "eth_getLogs") return done === null ? [] : [executedLog()];
    if (method === "eth_getTransactionByHash") return { hash: HASH, input: done, blockNumber: "0x9", type: "0x2" };
    if (method === "eth_getTransactionReceipt") {
      return { transactionHash: HASH, status: "0x1", blockNumber: "0x9", logs: [], type: "0x2" };
    }
    const { to, data } = (params ?? [])[0] as { to: Address; data: Hex };
    return called(to, data);
  };
  return createPublicClient({ transport: custom({ request }, { retryCount: 0 }) });
}

function called(to: Address, data: Hex): Hex {
  if (to.toLowerCase() === ACCOUNTS.toLowerCase()) {
    const { functionName } = decodeFunctionData({ abi: accountsAbi, data });
    if (functionName === "nonceOf") return encodeFunctionResult({ abi: accountsAbi, functionName, result: nonce });
    if (refuses !== null) throw Object.assign(new Error("reverted"), { code: 3, data: refuses });
    return encodeFunctionResult({ abi: accountsAbi, functionName: "execute", result: [] });
  }
  const { functionName } = decodeFunctionData({ abi: controllerAbi, data });
  if (functionName === "accounts") return encodeFunctionResult({ abi: controllerAbi, functionName, result: ACCOUNTS });
  const result = [STRANGER, STRANGER, STRANGER, STRANGER] as const;
  return encodeFunctionResult({ abi: controllerAbi, functionName: "companions", result });
}

function executedLog() {
  const args = { account: renter.address, nonce: 5n, submitter: STRANGER };
  const topics = encodeEventTopics({ abi: accountsAbi, eventName: "Executed", args });
  const place = {
    blockNumber: "0x9",
    blockHash: HASH,
    transactionHash: HASH,
    transactionIndex: "0x0",
    logIndex: "0x0",
  };
  return { address: ACCOUNTS, topics, data: "0x", removed: false, ...place };
}

/** What a gateway sends of what it was given. */
function executeOf({ account, payee, fee, calls, nonce, deadline, proof }: Record<string, unknown>): Hex {
  const pays = encodeFunctionData({
    abi: controllerAbi,
    functionName: "transfer",
    args: [payee as Address, BigInt(fee as string)],
  });
  const all = [{ target: pool.controller, data: pays }, ...(calls as { target: Address; data: Hex }[])];
  return encodeFunctionData({
    abi: accountsAbi,
    functionName: "execute",
    args: [account as Address, all, BigInt(nonce as string), BigInt(deadline as number), proof as Hex],
  });
}

beforeEach(() => {
  [posted, signed, stages, coins, done, refuses] = [[], [], [], 0n, null, null];
  [nonce, time] = [5n, 1_800_000_000];
  localStorage.clear();
  gatewayThat();
});

/** A gateway that does what it was given, and answers so. */
function doing(answer: () => Response = () => Response.json({ transaction: HASH, block: 9 })): void {
  gatewayThat({
    sent: () => {
      done = executeOf(posted.at(-1) ?? {});
      return answer();
    },
  });
}

test("the fee is shown exactly, then signed with the calls as one", async () => {
  doing();
  const receipt = await sendGasless(given(), deed);
  expect(receipt?.transactionHash).toBe(HASH);
  expect(stages.map(({ kind }) => kind)).toEqual(["fee", "signing", "handed", "mined"]);
  expect(stages[0]).toMatchObject({ amount: "0.0213 TUSD", payee: PAYEE });
  const [request] = signed as [Request];
  expect(request.domain).toMatchObject({ chainId: pool.chainId, verifyingContract: ACCOUNTS });
  const [pays, does, ...more] = request.message.calls;
  expect(decodeFunctionData({ abi: controllerAbi, data: pays?.data ?? "0x" })).toMatchObject({
    functionName: "transfer",
    args: [PAYEE, 21_300n],
  });
  expect(does).toEqual({ target: pool.controller, data: deed.data });
  expect(more).toEqual([]);
  const [body] = posted as [{ proof: Hex }];
  const signature: Hex = `0x${body.proof.slice(4)}`;
  expect(await recoverTypedDataAddress({ ...request, signature })).toBe(renter.address);
});

test("several calls in one are signed one by one", async () => {
  doing();
  const data = encodeFunctionData({
    abi: controllerAbi,
    functionName: "multicall",
    args: [[withdraw(1n), withdraw(2n)]],
  });
  await sendGasless(given(), { ...deed, data });
  expect(signed[0]?.message.calls.slice(1).map((call) => call.data)).toEqual([withdraw(1n), withdraw(2n)]);
});

test("who has gas money is asked nothing", async () => {
  coins = 10n ** 18n;
  expect(await sendGasless(given(), deed)).toBeNull();
  expect(stages).toEqual([]);
});

test("who says no signs nothing, and goes the usual way", async () => {
  expect(await sendGasless(given(false), deed)).toBeNull();
  expect(signed).toEqual([]);
});

test("a gateway that sends for nobody is not asked for a price", async () => {
  vi.stubGlobal("fetch", async () => Response.json({ code: "not-served" }, { status: 503 }));
  expect(await sendGasless(given(), deed)).toBeNull();
});

test("what no gateway sends goes the usual way", async () => {
  gatewayThat({ quote: () => Response.json({ code: "not-gasless", detail: "no" }, { status: 400 }) });
  expect(await sendGasless(given(), deed)).toBeNull();
  expect(stages).toEqual([]);
});

test.each(["-1", "1e9", "", "9".repeat(30), 5, null])("a fee that is none (%s) is not signed", async (fee) => {
  gatewayThat({ quote: () => Response.json({ fee, payee: PAYEE }) });
  await expect(sendGasless(given(), deed)).rejects.toMatchObject({ code: "gasless-refused" });
  expect(signed).toEqual([]);
});

test("what the contracts would refuse never leaves the page", async () => {
  refuses = "0x08c379a0";
  await expect(sendGasless(given(), deed)).rejects.toThrow();
  expect(posted).toEqual([]);
});

test("a gateway that says it is done is not believed", async () => {
  await expect(sendGasless(given(), deed)).rejects.toMatchObject({
    code: "gasless-unknown",
    advice: expect.stringContaining("can still be sent until"),
  });
});

test("one that refuses, and has sent it, is found out", async () => {
  doing(() => Response.json({ code: "busy", detail: "Too much." }, { status: 429 }));
  expect((await sendGasless(given(), deed))?.transactionHash).toBe(HASH);
});

test("one that refuses is told in its words, and until when it could be sent", async () => {
  gatewayThat({ sent: () => Response.json({ code: "fee-too-low", detail: "Gas is dearer now." }, { status: 409 }) });
  await expect(sendGasless(given(), deed)).rejects.toMatchObject({
    code: "fee-too-low",
    message: "Gas is dearer now.",
    advice: expect.stringContaining("once all the same"),
  });
});

test("something else that was done in its place is no success", async () => {
  gatewayThat({
    sent: () => {
      done = executeOf({ ...posted.at(-1), deadline: 1 });
      return Response.json({ transaction: HASH, block: 9 });
    },
  });
  await expect(sendGasless(given(), deed)).rejects.toMatchObject({ code: "gasless-other" });
});

/** A gateway has what was signed, and says no; then the account gets coin of its own. */
async function keptBack(): Promise<void> {
  gatewayThat({ sent: () => Response.json({ code: "busy", detail: "Too much." }, { status: 429 }) });
  await expect(sendGasless(given(), deed)).rejects.toMatchObject({ code: "busy" });
  coins = 10n ** 18n;
}

test("what a gateway keeps back is not sent a second time by the wallet", async () => {
  await keptBack();
  const again = { ...deed, data: withdraw(2_000_000n) };
  await expect(sendGasless(given(), again)).rejects.toMatchObject({
    code: "gasless-waiting",
    message: expect.stringContaining("could happen twice"),
  });
  coins = 0n;
  await expect(sendGasless(given(false), again)).rejects.toMatchObject({ code: "gasless-waiting" });
});

test("something else is sent meanwhile, and what comes to the same if it is done twice", async () => {
  await keptBack();
  const close = encodeFunctionData({ abi: controllerAbi, functionName: "close", args: [7n] });
  expect(await sendGasless(given(), { ...deed, data: close })).toBeNull();
});

test("it is sent once what was signed is over, or was done", async () => {
  await keptBack();
  nonce = 6n;
  expect(await sendGasless(given(), deed)).toBeNull();
  nonce = 5n;
  expect(await sendGasless(given(), deed)).toBeNull(); // it was done, and is forgotten
  [coins, nonce] = [0n, 5n];
  await keptBack();
  time += 10_000_000;
  expect(await sendGasless(given(), deed)).toBeNull();
});

test("signed again before then it has the same nonce, whatever else is asked for", async () => {
  await keptBack();
  coins = 0n;
  doing();
  expect((await sendGasless(given(), deed))?.transactionHash).toBe(HASH);
  expect(signed.map(({ message }) => message.nonce)).toEqual([5n, 5n]);
  expect(localStorage.length).toBe(0);
});
