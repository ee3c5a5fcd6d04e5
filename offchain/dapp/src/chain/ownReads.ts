/** What a provider's pages read of the pool before they ask a wallet for anything. Nothing here asks the gateway. */
import type { Address, PublicClient } from "viem";
import { Problem } from "../problem";
import { controllerAbi, faultsAbi } from "./generated/abi";
import { readCompanions } from "./pool";
import type { JudgedFault, OwnMachine, Pool, ProviderRules } from "./types";

/** A machine whole. Throws a Problem where it is not the account's: the gateway may have named somebody else's. */
export async function readOwnMachine(
  chain: PublicClient,
  pool: Pool,
  id: number,
  account: Address,
): Promise<OwnMachine> {
  const machine = await chain.readContract({
    address: pool.controller,
    abi: controllerAbi,
    functionName: "machineOf",
    args: [id],
  });
  if (machine.provider.toLowerCase() !== account.toLowerCase()) {
    throw new Problem("not-yours", `Machine ${id} is not this account's.`, "Connect the wallet that staked it.");
  }
  return { ...machine, id };
}

export async function readProviderRules(chain: PublicClient, pool: Pool, version: number): Promise<ProviderRules> {
  return await chain.readContract({
    address: pool.controller,
    abi: controllerAbi,
    functionName: "params",
    args: [version],
  });
}

/** A fault as the pool's judge has it, whose address stands in the pool's own code. */
export async function readFault(chain: PublicClient, pool: Pool, id: number): Promise<JudgedFault> {
  const { faults } = await readCompanions(chain, pool);
  const fault = await chain.readContract({
    address: faults,
    abi: faultsAbi,
    functionName: "faultOf",
    args: [BigInt(id)],
  });
  return { ...fault, id };
}

/** When other rules of the pool come into force, or `null` while none are proposed or they are in force already. */
export async function readRulesToCome(chain: PublicClient, pool: Pool, now: number): Promise<number | null> {
  const [, inForceAt] = await chain.readContract({
    address: pool.controller,
    abi: controllerAbi,
    functionName: "proposedParams",
  });
  return inForceAt > now ? inForceAt : null;
}
