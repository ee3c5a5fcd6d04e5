/** The gateway's answers, as far as the chain alone gives them: the same shapes, so that the pages know no other way. */
import {
  type Address,
  createPublicClient,
  custom,
  getAddress,
  isAddress,
  isAddressEqual,
  type PublicClient,
  zeroAddress,
} from "viem";
import { needsGateway, type Query } from "../api/gateway";
import type { MachineItem } from "../api/machines";
import type { PoolWhole } from "../api/pools";
import type { Block } from "../api/types";
import {
  cellsOf,
  formatLease,
  type Lease,
  MachineStatus,
  type OwnMachine,
  type Pool,
  readCompanions,
  readHead,
  readParamsVersion,
  readPool,
  rememberedPool,
} from "../chain";
import { controllerAbi } from "../chain/generated/abi";
import { formatAmount } from "../format";
import { Problem } from "../problem";
import { wallets } from "../wallet";
import { leasesOf, leasesOn, machineCount, readMachines } from "./reading";

const DAY = 86_400;
const MOST = 200;
const PART = 50;

/** What a gateway would answer. Throws a Problem where that takes one, or where there is no node to ask. */
export async function answer(path: string, query: Query): Promise<unknown> {
  const { chain, pool } = await place();
  const head = await readHead(chain);
  const block: Block = { number: Number(head.number), hash: head.hash, time: head.time };
  if (path === "pools") return { block, ...listed([await poolOf(chain, pool)]) };
  if (path === "leases") return { block, ...listed(await leasesFor(chain, pool, query)) };
  if (path === "machines") return { block, ...(await machinesFor(chain, pool, query)) };
  throw needsGateway();
}

function listed<Item>(items: readonly Item[]) {
  return { items, total: items.length, next: null };
}

/** The wallet's node, and the pool that this browser used before, looked at anew. */
async function place(): Promise<{ chain: PublicClient; pool: Pool }> {
  const { chosen, account } = wallets.snapshot();
  if (chosen === null || account === null) {
    throw new Problem(
      "needs-node",
      "Without a gateway the chain is read by your wallet's node, and no wallet is connected.",
      "Connect it at “Your leases”.",
    );
  }
  const claimed = rememberedPool(localStorage);
  if (claimed === null) {
    throw new Problem(
      "pool-unknown",
      "This browser has used no pool yet, and no gateway says where one is.",
      "Choose a gateway once, and connect your wallet there.",
    );
  }
  const chain = createPublicClient({ transport: custom(chosen.provider) });
  return { chain, pool: await readPool(chain, claimed) };
}

async function poolOf(chain: PublicClient, pool: Pool): Promise<PoolWhole> {
  const at = { address: pool.controller, abi: controllerAbi } as const;
  const [companions, version, owner, treasury, paused, gated, machines] = await Promise.all([
    readCompanions(chain, pool),
    readParamsVersion(chain, pool),
    chain.readContract({ ...at, functionName: "owner" }),
    chain.readContract({ ...at, functionName: "treasury" }),
    chain.readContract({ ...at, functionName: "paused" }),
    chain.readContract({ ...at, functionName: "gated" }),
    machineCount(chain, pool),
  ]);
  const { arbiter, sink, ...rules } = await chain.readContract({ ...at, functionName: "params", args: [version] });
  const named = Object.entries(rules).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    typeof value === "bigint" ? formatAmount(value, pool.money.decimals) : value,
  ]);
  return {
    ...{ controller: pool.controller, chain_id: pool.chainId, genesis: "", deployed_at_block: Number(pool.block) },
    token: { address: pool.token, ...pool.money },
    contracts: { Controller: pool.controller, ...titled(companions) },
    ...{ code_hashes: {}, owner, pending_owner: null, treasury, paused, gated, machines },
    arbiter: arbiter === zeroAddress ? null : arbiter,
    sink: sink === zeroAddress ? null : sink,
    ...{ seats: 0, matured_seats: 0, quorum: { seats: 0, validators: 0 } },
    ...{ params_version: version, params: Object.fromEntries(named), proposed: null, powers: [] },
  };
}

function titled(companions: object): Record<string, Address> {
  return Object.fromEntries(
    Object.entries(companions).map(([name, address]) => [name.charAt(0).toUpperCase() + name.slice(1), address]),
  );
}

async function leasesFor(chain: PublicClient, pool: Pool, query: Query) {
  const { tenant, provider, state } = query;
  const most = Math.min(Number(query.limit ?? PART), MOST);
  const leases =
    typeof tenant === "string" && isAddress(tenant)
      ? await leasesOf(chain, pool, getAddress(tenant), most)
      : typeof provider === "string" && isAddress(provider)
        ? await leasesOn(chain, pool, await machinesOf(chain, pool, getAddress(provider)), most)
        : null;
  if (leases === null) throw needsGateway();
  return leases.map(leaseItem).filter((lease) => state === undefined || lease.state === state);
}

async function machinesOf(chain: PublicClient, pool: Pool, provider: Address): Promise<readonly number[]> {
  const machines = await readMachines(chain, pool, upTo(await machineCount(chain, pool)));
  return machines.filter((machine) => isAddressEqual(machine.provider, provider)).map(({ id }) => id);
}

const STATES = ["none", "opened", "active", "ended", "cancelled", "rejected"];

function leaseItem(lease: Lease) {
  return {
    ...{
      id: formatLease(lease.id),
      machine: lease.machine,
      tenant: lease.tenant,
      state: STATES[lease.state] ?? "none",
    },
    ...{ cells: cellsOf(lease.placement), start: lease.start, end: lease.end },
    ...{ deposit: String(lease.deposit), price: String(lease.price), paid: String(lease.settled) },
  };
}

/** Machines by their numbers. Of a search the chain knows one word, `provider:`; any other is refused. */
async function machinesFor(chain: PublicClient, pool: Pool, query: Query) {
  const search = String(query.q ?? "").trim();
  const owner = /^provider:(0x[0-9a-fA-F]{40})$/.exec(search)?.[1];
  if (search !== "" && owner === undefined) throw needsGateway();
  const count = await machineCount(chain, pool);
  if (owner !== undefined) {
    const own = (await readMachines(chain, pool, upTo(count))).filter(
      (machine) => isAddressEqual(machine.provider, getAddress(owner)) && machine.status !== MachineStatus.retired,
    );
    return listed(own.map(machineItem));
  }
  const begin = Number(query.after || 0);
  const ids = upTo(count).slice(begin, begin + PART);
  const items = (await readMachines(chain, pool, ids)).filter(({ status }) => status !== MachineStatus.retired);
  const end = begin + ids.length;
  return { items: items.map(machineItem), total: count, next: end < count ? String(end) : null };
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, place) => place + 1);
}

/** What the chain says of a machine; what only its documents or an index say is not known. */
function machineItem(machine: OwnMachine): MachineItem {
  const cells = machine.gpus * 8;
  const free = cells - bits(machine.busy);
  return {
    ...{ id: machine.id, provider: machine.provider, operator: machine.operator, gpus: machine.gpus },
    ...{ kind: null, gpu: null, cpu: null, class: null, mem: null, hardware: null, location: { country: null } },
    ...{ isolation: [], last_seen: null, images_cached: [], hardware_cid: "", contact_cid: "" },
    missing: "Without a gateway its documents are not fetched.",
    ...{ score: null, stars: null, ratings: null, uptime: null, started: null },
    ...{
      free: wholeFree(machine),
      cells,
      free_cells: free,
      smallest: machine.smallestShare,
      state: stateOf(machine, free),
    },
    ...{ verified: machine.status === MachineStatus.verified, down_since: machine.downSince || null },
    ...{ revision: machine.revision, params: machine.params, stake: String(machine.stake) },
    ...{ price: String(machine.terms.price), min: machine.terms.minDuration, max: machine.terms.maxDuration },
    spot_price: machine.terms.spotPrice ? String(machine.terms.spotPrice) : null,
    trial: machine.terms.trial,
    available_until: (machine.terms.availableUntilDay + 1) * DAY,
  };
}

function stateOf(machine: OwnMachine, free: number): MachineItem["state"] {
  if (machine.status === MachineStatus.retired) return "retired";
  if (machine.delisted || machine.underStaked || machine.stalled || machine.downSince) return "closed";
  return free > 0 ? "free" : "busy";
}

function wholeFree({ busy, gpus }: OwnMachine): number {
  return upTo(gpus).filter((gpu) => ((busy >> BigInt(8 * (gpu - 1))) & 0xffn) === 0n).length;
}

function bits(mask: bigint): number {
  let count = 0;
  for (let rest = mask; rest; rest &= rest - 1n) count += 1;
  return count;
}
