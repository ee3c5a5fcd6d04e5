/** A committed purse, a lease, and a chain that answers what it is told to. */
import { readFileSync } from "node:fs";
import {
  type Address,
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
} from "viem";
import { type Lease, LeaseState } from "../../src/chain";
import { controllerAbi } from "../../src/chain/generated/abi";
import { accountsAbi } from "../../src/groups/generated/accounts";
import type { Purse } from "../../src/purse";
import { ACCOUNTS, pool, STRANGER, signers } from "../groups/given";

export const vector = JSON.parse(readFileSync("../../tests/vectors/purse.json", "utf8"));
export const [tenant] = signers as [(typeof signers)[0]];
const said = vector.purse;
export const { key, payee } = said;
const { tenant: owner, seconds, count, deadline } = said;
export const purse: Purse = {
  tenant: owner,
  key,
  payee,
  seconds,
  count,
  deadline,
  lease: BigInt(said.lease),
  fee: BigInt(said.fee),
  most: BigInt(said.most),
};
export const lease = {
  id: purse.lease,
  tenant: tenant.address,
  state: LeaseState.active,
  price: 2_000_000n,
  placement: 0x1ff,
  end: 1_800_000_000,
} as Lease;
export const HASH = toHex(7, { size: 32 });
const event = parseAbi(["event Transferred(address indexed from, address indexed to, uint256 amount)"]);

/** What was sent, and what the chain has: money by account, transfers, an account's code. */
export const world = {
  sent: [] as { to: Address; data: Hex }[],
  ledgers: {} as Record<string, bigint>,
  transfers: [] as { to: Address; amount: bigint; hash: Hex }[],
  code: "0x" as Hex,
};

export function anew(): void {
  Object.assign(world, { sent: [], ledgers: { [tenant.address]: 10n ** 9n }, transfers: [], code: "0x" });
}

function called(to: Address, data: Hex): Hex {
  if (to.toLowerCase() === ACCOUNTS.toLowerCase()) {
    const { functionName } = decodeFunctionData({ abi: accountsAbi, data });
    if (functionName === "nonceOf") return encodeFunctionResult({ abi: accountsAbi, functionName, result: 5n });
    return encodeFunctionResult({ abi: accountsAbi, functionName: "execute", result: [] });
  }
  if (to.toLowerCase() === pool.token.toLowerCase()) return numberToHex(0n, { size: 32 });
  const { functionName, args } = decodeFunctionData({ abi: controllerAbi, data });
  if (functionName === "accounts") return encodeFunctionResult({ abi: controllerAbi, functionName, result: ACCOUNTS });
  if (functionName === "balanceOf") return numberToHex(world.ledgers[args[0] as Address] ?? 0n, { size: 32 });
  if (functionName === "multicall") return encodeFunctionResult({ abi: controllerAbi, functionName, result: [] });
  const result = [STRANGER, STRANGER, STRANGER, STRANGER] as const;
  return encodeFunctionResult({ abi: controllerAbi, functionName: "companions", result });
}

async function request({ method, params }: { method: string; params?: unknown[] }): Promise<unknown> {
  const [first] = (params ?? []) as [{ to: Address; data: Hex }];
  if (method === "eth_getBlockByNumber") {
    return { number: "0x9", timestamp: "0x6b49d200", hash: HASH, transactions: [], uncles: [] };
  }
  if (method === "eth_getCode") return world.code;
  if (method === "eth_blockNumber") return "0x9";
  if (method === "eth_getLogs") {
    const { fromBlock } = first as unknown as { fromBlock: Hex };
    return BigInt(fromBlock) <= 9n ? world.transfers.map(logOf) : [];
  }
  if (method === "eth_getTransactionReceipt") {
    return { transactionHash: HASH, status: "0x1", blockNumber: "0x9", logs: [], type: "0x2" };
  }
  if (method === "eth_sendTransaction") {
    world.sent.push(first);
    return HASH;
  }
  return called(first.to, first.data);
}

function logOf({ to, amount, hash }: (typeof world.transfers)[0], index: number) {
  const topics = encodeEventTopics({ abi: event, eventName: "Transferred", args: { from: tenant.address, to } });
  const at = { blockNumber: "0x9", blockHash: HASH, transactionIndex: "0x0", logIndex: numberToHex(index) };
  return { address: pool.controller, topics, data: numberToHex(amount, { size: 32 }), transactionHash: hash, ...at };
}

export function hands() {
  const chain = createPublicClient({ transport: custom({ request }, { retryCount: 0 }) }) as PublicClient;
  // biome-ignore lint/suspicious/noExplicitAny: the wallet signs whatever it is asked for
  const signTypedData = async (message: any): Promise<Hex> => await tenant.signTypedData(message);
  // biome-ignore lint/suspicious/noExplicitAny: a provider that answers what is asked here
  const sender = { account: tenant.address, provider: { request } as any };
  return { chain, pool, sender, signTypedData, tell: () => {}, signIn: async () => {} };
}
