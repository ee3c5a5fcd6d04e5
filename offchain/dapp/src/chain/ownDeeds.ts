/** What a provider's browser asks the pool for, each with what it does in words. */
import { type Address, encodeFunctionData, type Hex } from "viem";
import { exact, formatDuration } from "../format";
import { type Deed, together } from "./deeds";
import { controllerAbi, faultsAbi } from "./generated/abi";
import { changesOf } from "./terms";
import type { JudgedFault, OwnMachine, Pool, Terms } from "./types";

/** New terms for leases from now on; they accept the pool's rules in force. */
export function termsDeed(pool: Pool, machine: OwnMachine, terms: Terms): Deed {
  const data = encodeFunctionData({ abi: controllerAbi, functionName: "setTerms", args: [machine.id, terms] });
  const changes = changesOf(machine.terms, terms, pool.money).map(
    ({ name, before, after }) => `${name} ${after} instead of ${before}`,
  );
  const what = changes.length ? changes.join("; ") : "the same as before, by the pool's rules of now";
  const words = `New terms of machine ${machine.id}, for leases from now on: ${what}.`;
  return { words, to: pool.controller, data };
}

/** Settles what these leases have brought up to now; `about`: what comes into the ledger at least. */
export function claimDeed(pool: Pool, leases: readonly bigint[], about: bigint): Deed {
  const data = encodeFunctionData({ abi: controllerAbi, functionName: "claim", args: [leases] });
  const of = leases.length === 1 ? "one lease" : `${leases.length} leases`;
  const words = `Claim what ${of} have brought: about ${exact(about, pool.money)} come into your ledger.`;
  return { words: words.replace("one lease have", "one lease has"), to: pool.controller, data };
}

/** More at stake, from the ledger first and from the wallet for the rest. */
export function stakeDeed(pool: Pool, machine: number, amount: bigint, permit: Hex | null): Deed {
  const add = encodeFunctionData({ abi: controllerAbi, functionName: "addStake", args: [machine, amount] });
  const words = `Add ${exact(amount, pool.money)} to the stake of machine ${machine}: it comes back when the machine has left, less what is slashed.`;
  return { words, to: pool.controller, data: together(permit, add) };
}

/** Out of the market for good. `delay`: seconds until its stake can leave. */
export function retireDeed(pool: Pool, machine: number, delay: number): Deed {
  const data = encodeFunctionData({ abi: controllerAbi, functionName: "retire", args: [machine] });
  const words = `Retire machine ${machine} for good: its stake can leave in ${formatDuration(delay)}.`;
  return { words, to: pool.controller, data };
}

/** The stake of a retired machine into its provider's ledger. */
export function unstakeDeed(pool: Pool, machine: OwnMachine): Deed {
  const data = encodeFunctionData({ abi: controllerAbi, functionName: "unstake", args: [machine.id] });
  const words = `Take the stake of machine ${machine.id} back: ${exact(machine.stake, pool.money)} come into your ledger.`;
  return { words, to: pool.controller, data };
}

/** Out of sale, or back on sale: what is leased runs on. */
export function listingDeed(pool: Pool, machine: number, listed: boolean): Deed {
  const functionName = listed ? "relist" : "delist";
  const data = encodeFunctionData({ abi: controllerAbi, functionName, args: [machine] });
  const words = listed
    ? `Put machine ${machine} back on sale.`
    : `Take machine ${machine} out of sale: its leases run on, and cannot be extended.`;
  return { words, to: pool.controller, data };
}

/** Asks the pool's arbiter to rule. `faults`: the contract that judges, out of the pool's code. */
export function appealDeed(pool: Pool, faults: Address, fault: JudgedFault, bond: bigint): Deed {
  const data = encodeFunctionData({ abi: faultsAbi, functionName: "appeal", args: [BigInt(fault.id)] });
  const words = `Appeal fault ${fault.id} of machine ${fault.machine}: ${exact(bond, pool.money)} of your ledger are the bond, lost where the arbiter lets the fault stand.`;
  return { words, to: faults, data };
}

/** Tokens out of the wallet into one's own ledger. */
export function depositDeed(pool: Pool, account: Address, amount: bigint, permit: Hex | null): Deed {
  const deposit = encodeFunctionData({ abi: controllerAbi, functionName: "deposit", args: [account, amount] });
  const words = `Put ${exact(amount, pool.money)} from your wallet into your ledger.`;
  return { words, to: pool.controller, data: permit ?? deposit };
}
