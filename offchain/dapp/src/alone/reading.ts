/** Leases and machines as the chain alone has them. */
import {
  type Address,
  encodeEventTopics,
  type Hex,
  isAddressEqual,
  numberToHex,
  type PublicClient,
  pad,
  parseEventLogs,
} from "viem";
import { type Lease, type OwnMachine, type Pool, poolLogs, readLease } from "../chain";
import { controllerAbi } from "../chain/generated/abi";

const AT_ONCE = 25;

export async function machineCount(chain: PublicClient, pool: Pool): Promise<number> {
  return await chain.readContract({ address: pool.controller, abi: controllerAbi, functionName: "machineCount" });
}

export async function readMachines(
  chain: PublicClient,
  pool: Pool,
  ids: readonly number[],
): Promise<readonly OwnMachine[]> {
  return await inTurn(ids, async (id) => ({
    ...(await chain.readContract({
      address: pool.controller,
      abi: controllerAbi,
      functionName: "machineOf",
      args: [id],
    })),
    id,
  }));
}

/** The leases that an account has, the newest first: those that it opened or was given, and has not given away. */
export async function leasesOf(chain: PublicClient, pool: Pool, tenant: Address, most: number) {
  const opened = encodeEventTopics({ abi: controllerAbi, eventName: "LeaseOpened", args: { tenant } });
  const given = encodeEventTopics({ abi: controllerAbi, eventName: "LeaseTransferred", args: { to: tenant } });
  const logs = [await poolLogs(chain, pool, opened as Hex[]), await poolLogs(chain, pool, given as Hex[])].flat();
  const known = await leasesIn(chain, pool, parseEventLogs({ abi: controllerAbi, logs }), most);
  return known.filter((lease) => isAddressEqual(lease.tenant, tenant));
}

/** The leases of these machines, the newest first. */
export async function leasesOn(chain: PublicClient, pool: Pool, machines: readonly number[], most: number) {
  if (machines.length === 0) return [];
  const [opened] = encodeEventTopics({ abi: controllerAbi, eventName: "LeaseOpened" });
  const places = machines.map((machine) => pad(numberToHex(machine), { size: 32 }));
  const logs = await poolLogs(chain, pool, [opened, null, places]);
  return await leasesIn(chain, pool, parseEventLogs({ abi: controllerAbi, logs }), most);
}

async function leasesIn(
  chain: PublicClient,
  pool: Pool,
  logs: readonly { readonly args: unknown; readonly blockNumber: bigint | null }[],
  most: number,
): Promise<readonly Lease[]> {
  const newest = [...logs].sort((a, b) => Number((b.blockNumber ?? 0n) - (a.blockNumber ?? 0n)));
  const ids = [...new Set(newest.map(({ args }) => (args as { lease: bigint }).lease))].slice(0, most);
  const leases = await inTurn(ids, (id) => readLease(chain, pool, id));
  return leases.filter(({ machine }) => machine !== 0); // a slot that has another lease by now
}

/** Asks some at once: a wallet's node may refuse a hundred. */
async function inTurn<From, To>(list: readonly From[], ask: (from: From) => Promise<To>): Promise<readonly To[]> {
  const found: To[] = [];
  for (let from = 0; from < list.length; from += AT_ONCE) {
    found.push(...(await Promise.all(list.slice(from, from + AT_ONCE).map(ask))));
  }
  return found;
}
