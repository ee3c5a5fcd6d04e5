/** A pool's events, from nodes that answer for the whole past at once and from those that give so many blocks. */
import { type Address, formatLog, type Hex, numberToHex, type PublicClient } from "viem";
import { Problem } from "../problem";
import type { Pool } from "./types";

const PIECE = 10_000n;
const PIECES = 500n;

type Topics = readonly (Hex | readonly Hex[] | null)[];

/**
 * What the pool, or another contract of its, said under these topics, oldest first. The whole past is asked for, and not from the block which a gateway
 * once named as the pool's begin; only a node that gives no more than some blocks at once is asked from there.
 */
export async function poolLogs(chain: PublicClient, pool: Pool, topics: Topics, address: Address = pool.controller) {
  try {
    return await between(chain, address, topics, 0n, null);
  } catch (error) {
    if (!isRange(error)) throw error;
  }
  const head = await chain.getBlockNumber();
  if ((head - pool.block) / PIECE > PIECES) {
    throw new Problem(
      "past-too-long",
      "Your wallet's node gives too few blocks at once to find what happened in this pool.",
      "Give your wallet another node, or choose a gateway.",
    );
  }
  const found = [];
  for (let from = pool.block; from <= head; from += PIECE) {
    found.push(...(await between(chain, address, topics, from, from + PIECE - 1n)));
  }
  return found;
}

async function between(chain: PublicClient, address: Address, topics: Topics, from: bigint, to: bigint | null) {
  const logs = await chain.request({
    method: "eth_getLogs",
    params: [
      {
        address,
        fromBlock: numberToHex(from),
        toBlock: to === null ? "latest" : numberToHex(to),
        topics: topics as (Hex | Hex[] | null)[],
      },
    ],
  });
  return logs.map((log) => formatLog(log));
}

/** Whether a node refused the question itself: one that does not answer at all would not answer a smaller one. */
function isRange(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "number" && code <= -32_000 && code >= -32_700;
}
