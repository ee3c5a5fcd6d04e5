/** Where a group acts: a pool, the `Accounts` that it believes, and whose calls may be signed. By the chain's word alone. */
import { type Address, getAddress, type PublicClient } from "viem";
import type { Pool } from "../chain";
import { controllerAbi } from "../chain/generated/abi";

/** `contracts`: which contract lives at which address; of others no call is shown or signed. */
export interface Place {
  readonly pool: Pool;
  readonly accounts: Address;
  readonly contracts: ReadonlyMap<Address, string>;
}

export async function readPlace(chain: PublicClient, pool: Pool): Promise<Place> {
  const [accounts, companions] = await Promise.all([
    chain.readContract({ address: pool.controller, abi: controllerAbi, functionName: "accounts" }),
    chain.readContract({ address: pool.controller, abi: controllerAbi, functionName: "companions" }),
  ]);
  const [committee, faults, reputation, directory] = companions;
  return placeOf(pool, accounts, { committee, faults, reputation, directory });
}

type Companions = Readonly<Record<"committee" | "faults" | "reputation" | "directory", Address>>;

export function placeOf(pool: Pool, accounts: Address, own: Companions): Place {
  const contracts = new Map<Address, string>([
    [getAddress(own.committee), "Committee"],
    [getAddress(own.faults), "Faults"],
    [getAddress(own.reputation), "Reputation"],
    [getAddress(own.directory), "Directory"],
    [getAddress(accounts), "Accounts"],
    [getAddress(pool.controller), "Controller"],
  ]);
  return { pool, accounts: getAddress(accounts), contracts };
}
