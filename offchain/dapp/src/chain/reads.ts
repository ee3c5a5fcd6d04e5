/** What is read of a pool, from the reader's own node where the wallet has one. Nothing here asks the gateway's index. */
import {
  type Address,
  formatLog,
  type Hex,
  isAddressEqual,
  numberToHex,
  type PublicClient,
  parseEventLogs,
  type TransactionReceipt,
} from "viem";
import { Problem } from "../problem";
import { controllerAbi } from "./generated/abi";
import { tokenAbi } from "./token";
import type { Funds, Head, Lease, Machine, Params, Pool } from "./types";

export async function readMachine(chain: PublicClient, pool: Pool, id: number): Promise<Machine> {
  const machine = await chain.readContract({
    address: pool.controller,
    abi: controllerAbi,
    functionName: "machineOf",
    args: [id],
  });
  return { ...machine, id };
}

export async function readParams(chain: PublicClient, pool: Pool, version: number): Promise<Params> {
  return await chain.readContract({
    address: pool.controller,
    abi: controllerAbi,
    functionName: "params",
    args: [version],
  });
}

/** The version of the rules that a machine has to have accepted. */
export async function readParamsVersion(chain: PublicClient, pool: Pool): Promise<number> {
  return await chain.readContract({ address: pool.controller, abi: controllerAbi, functionName: "paramsVersion" });
}

export async function readLease(chain: PublicClient, pool: Pool, id: bigint): Promise<Lease> {
  const lease = await chain.readContract({
    address: pool.controller,
    abi: controllerAbi,
    functionName: "leaseOf",
    args: [id],
  });
  return { ...lease, id };
}

export async function readFunds(chain: PublicClient, pool: Pool, account: Address): Promise<Funds> {
  const [ledger, wallet, allowance] = await Promise.all([
    chain.readContract({ address: pool.controller, abi: controllerAbi, functionName: "balanceOf", args: [account] }),
    chain.readContract({ address: pool.token, abi: tokenAbi, functionName: "balanceOf", args: [account] }),
    chain.readContract({
      address: pool.token,
      abi: tokenAbi,
      functionName: "allowance",
      args: [account, pool.controller],
    }),
  ]);
  return { ledger, wallet, allowance };
}

export async function readHead(chain: PublicClient): Promise<Head> {
  const block = await chain.getBlock({ blockTag: "latest" });
  return { number: block.number, time: Number(block.timestamp), hash: block.hash };
}

const CONTACT_SET = controllerAbi.find((entry) => entry.type === "event" && entry.name === "ContactSet");

/**
 * The SHA-256 of the machine's contact document, by the newest event that names one.
 *
 * A gateway that says a later block for the pool's begin hides events, never the newest without all of them.
 */
export async function readContactDigest(chain: PublicClient, pool: Pool, machine: number): Promise<Hex> {
  if (CONTACT_SET?.type !== "event") throw new Error("the ABI has no ContactSet");
  const logs = await chain.getLogs({
    address: pool.controller,
    event: CONTACT_SET,
    args: { machine },
    fromBlock: pool.block,
    toBlock: "latest",
    strict: true,
  });
  const newest = logs.at(-1);
  if (newest === undefined) {
    throw new Problem(
      "contact-unknown",
      `The chain names no contact of machine ${machine}.`,
      "Choose another machine.",
    );
  }
  return newest.args.digest;
}

/** What the chain says of one lease, oldest first. */
export async function readLeaseEvents(chain: PublicClient, pool: Pool, lease: bigint) {
  const logs = await chain.request({
    method: "eth_getLogs",
    params: [
      {
        address: pool.controller,
        fromBlock: numberToHex(pool.block),
        toBlock: "latest",
        topics: [null, numberToHex(lease, { size: 32 })],
      },
    ],
  });
  return parseEventLogs({ abi: controllerAbi, logs: logs.map((log) => formatLog(log)) });
}

/** The lease that a transaction opened. Throws a Problem where it opened none. */
export function openedIn(pool: Pool, receipt: TransactionReceipt): bigint {
  const [opened] = parseEventLogs({ abi: controllerAbi, eventName: "LeaseOpened", logs: ofPool(pool, receipt) });
  if (!opened)
    throw new Problem("not-opened", "The transaction opened no lease.", "Look at Leases before you try again.");
  return opened.args.lease;
}

/** Anybody's contract can say what looks like the pool's event. */
function ofPool(pool: Pool, receipt: TransactionReceipt) {
  return receipt.logs.filter((log) => isAddressEqual(log.address, pool.controller));
}
