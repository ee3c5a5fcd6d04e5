/**
 * Calls as a signer reads them: taken apart from the very bytes that are signed.
 *
 * What cannot be shown whole is refused: another target, another function, bytes that are not exactly its arguments.
 */

import type { Address, Hex } from "viem";
import {
  type Abi,
  type AbiFunction,
  type AbiParameter,
  decodeFunctionData,
  encodeFunctionData,
  getAddress,
  isAddressEqual,
} from "viem";
import { cost, formatLease } from "../chain";
import { exact, formatDuration, formatShare, type Money } from "../format";
import { Problem } from "../problem";
import { proposable } from "./generated/proposable";
import type { Place } from "./place";

export interface Call {
  readonly target: Address;
  readonly data: Hex;
}

/** `inner`: the calls that a `multicall` makes. */
export interface DecodedCall {
  readonly contract: string;
  readonly target: Address;
  readonly name: string;
  readonly inputs: readonly AbiParameter[];
  readonly values: readonly unknown[];
  readonly inner: readonly DecodedCall[];
}

const DEPTH = 2;
const UNLIMITED = (1n << 256n) - 1n;

/** What a call does. Throws a Problem for one that nobody should sign. */
export function decodeCall(call: Call, place: Place, depth = DEPTH): DecodedCall {
  const target = getAddress(call.target);
  const unreadable = (why: string) =>
    new Problem("call-unreadable", `A call of ${target} cannot be shown: ${why}.`, "Do not sign it.");
  if (depth < 0) throw unreadable("too many calls are inside one another");
  const contract = place.contracts.get(target);
  const abi = contract === undefined ? undefined : proposable[contract];
  if (contract === undefined || abi === undefined) throw unreadable("it is no contract of this pool");
  const { name, inputs, values } = taken(abi, call.data, unreadable);
  // A cap there is in that pool's money, and is shown in this one's.
  const elsewhere = name === "setDelegate" && !isAddressEqual(values[0] as Address, place.pool.controller);
  if (elsewhere) throw unreadable("it is for another pool");
  const isMulticall = contract === "Controller" && name === "multicall";
  const inner = isMulticall
    ? (values[0] as readonly Hex[]).map((data) => decodeCall({ target, data }, place, depth - 1))
    : [];
  return { contract, target, name, inputs, values, inner };
}

function taken(abi: Abi, data: Hex, unreadable: (why: string) => Problem) {
  let name: string;
  let values: readonly unknown[];
  try {
    const decoded = decodeFunctionData({ abi, data });
    name = decoded.functionName;
    values = (decoded.args ?? []) as readonly unknown[];
  } catch {
    throw unreadable(`it has no function ${data.slice(0, 10)} with such arguments`);
  }
  // What decodes may still hold more, or the same twice: only the one way to write these arguments is shown.
  const again = encodeFunctionData({ abi, functionName: name, args: values });
  if (again !== data.toLowerCase()) throw unreadable("its bytes hold more than its arguments");
  const found = abi.find((entry): entry is AbiFunction => entry.type === "function" && entry.name === name);
  return { name, inputs: found?.inputs ?? [], values };
}

/** What a call does, as a sentence; every value is in its `rows`. */
export function sentence(call: DecodedCall, money: Money): string {
  if (call.inner.length) return call.inner.map((inner) => sentence(inner, money)).join(" ");
  const given = Object.fromEntries(call.inputs.map((input, at) => [input.name ?? "", call.values[at]]));
  const say = SENTENCES[`${call.contract}.${call.name}`];
  return say ? say(given, money) : `Call ${call.name} of ${call.contract}, with the values below.`;
}

// biome-ignore lint/suspicious/noExplicitAny: arguments are of as many kinds as there are functions
type Given = Readonly<Record<string, any>>;

const SENTENCES: Readonly<Record<string, (given: Given, money: Money) => string>> = {
  "Controller.open": ({ request }, money) => {
    const most = cost(request.maxPrice, request.share, request.duration, true);
    const what = `${formatShare(request.share)} of machine ${request.machine} for ${formatDuration(request.duration)}`;
    const spot = request.spot ? ", at the spot price, which its provider may end" : "";
    const measured = request.allowUnverified ? ", even if nobody has measured it" : "";
    return `Rent ${what}${spot}${measured}: at most ${exact(most, money)} go from the ledger into escrow.`;
  },
  "Controller.extend": ({ lease, duration }) =>
    `Extend lease ${formatLease(lease)} by ${formatDuration(duration)}: what that costs goes from the ledger into escrow.`,
  "Controller.close": ({ lease }) => `Close lease ${formatLease(lease)}: what is unused comes back into the ledger.`,
  "Controller.reject": ({ lease }) => `Reject lease ${formatLease(lease)}: what its trial leaves comes back.`,
  "Controller.withdraw": ({ to, amount }, money) =>
    `Take ${exact(amount, money)} out of the ledger, into the wallet of ${to}.`,
  "Controller.transfer": ({ to, amount }, money) => `Give ${exact(amount, money)} of the ledger to that of ${to}.`,
  "Controller.transferLease": ({ lease, to }) => `Give lease ${formatLease(lease)} and its escrow to ${to}.`,
  "Accounts.setDelegate": ({ delegate, cap, period, expiry }, money) => {
    if (!cap && !expiry) return `Let ${delegate} act for this account no longer.`;
    if (!cap) return `Let ${delegate} close and change what this account rents, and spend nothing.`;
    const span = period ? `in each ${formatDuration(Number(period))}` : "altogether";
    return `Let ${delegate} rent, extend, change and close for this account, for up to ${exact(cap, money)} ${span}.`;
  },
  "Accounts.rescue": ({ to }) => `Send tokens that lie at the account's own address to ${to}.`,
  "Accounts.deployGroup": () => "Deploy the account of a group.",
};

const AMOUNTS = new Set(["amount", "cap", "maxPrice", "price", "spotPrice"]);
const TIMES = new Set(["deadline", "expiry", "expiresAt"]);
const DURATIONS = new Set(["duration", "period", "minDuration", "maxDuration", "trial"]);
const LEASES = new Set(["lease", "reuse", "leases", "settle"]);

export type Row = readonly [name: string, value: string];

/** Names and values of every argument, those of inner calls too. */
export function rows(call: DecodedCall, money: Money, before = ""): readonly Row[] {
  const head: Row = [`${before}${call.contract}.${call.name}`, call.target];
  if (call.inner.length) {
    return [head, ...call.inner.flatMap((inner, at) => rows(inner, money, `${before}${at + 1}. `))];
  }
  return [head, ...call.inputs.flatMap((input, at) => rowsOf(input, call.values[at], money, before))];
}

function rowsOf(input: AbiParameter, value: unknown, money: Money, before: string): readonly Row[] {
  const name = input.name ?? "";
  if ("components" in input && input.type === "tuple") {
    const parts = value as Readonly<Record<string, unknown>>;
    return input.components.flatMap((part) => rowsOf(part, parts[part.name ?? ""], money, `${before}${name} · `));
  }
  return [[`${before}${name}`, shown(name, value, money)]];
}

function shown(name: string, value: unknown, money: Money): string {
  if (Array.isArray(value)) return value.map((part) => shown(name, part, money)).join(", ") || "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "object" && value !== null) {
    return Object.entries(value)
      .map(([part, held]) => `${part}: ${shown(part, held, money)}`)
      .join("; ");
  }
  if (typeof value !== "bigint" && typeof value !== "number") return value === "0x" ? "nothing" : String(value);
  return inUnits(name, BigInt(value), money);
}

function inUnits(name: string, number: bigint, money: Money): string {
  if (AMOUNTS.has(name)) return number === UNLIMITED ? "without limit" : exact(number, money);
  if (TIMES.has(name)) return `${number} (${utc(number)})`;
  if (DURATIONS.has(name)) return `${formatDuration(Number(number))} (${number} s)`;
  if (LEASES.has(name)) return number ? formatLease(number) : "none";
  if (name === "share") return `${formatShare(Number(number))} (${number} cells)`;
  return String(number);
}

function utc(seconds: bigint): string {
  if (seconds > 253_402_300_799n) return "for ever";
  return `${new Date(Number(seconds) * 1000).toISOString().replace("T", " ").slice(0, 19)} UTC`;
}
