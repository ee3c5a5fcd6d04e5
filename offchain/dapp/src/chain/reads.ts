/** What is read of a pool, from the reader's own node where the wallet has one. Nothing here asks the gateway's index. */
import { hexToBigInt, toHex, type Address, type Hex, type PublicClient } from "viem";

import { controllerAbi } from "./generated/abi";
import { Problem } from "../problem";
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
    throw new Problem("contact-unknown", `The chain names no contact of machine ${machine}.`, "Choose another machine.");
  }
  return toHex(hexToBigInt(newest.args.digest), { size: 32 });
}

/** Why a lease was declined, as its agent put it, and where its results lie; as far as the chain says. */
export async function readLeaseEvents(chain: PublicClient, pool: Pool, lease: bigint) {
  const logs = await chain.getLogs({
    address: pool.controller,
    events: controllerAbi.filter((entry) => entry.type === "event"),
    fromBlock: pool.block,
    toBlock: "latest",
    strict: true,
  });
  return logs.filter((log) => "lease" in log.args && log.args.lease === lease);
}
