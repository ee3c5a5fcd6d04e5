/**
 * How the data of a contract's error becomes words: the library's `_wording.py`, for the browser.
 *
 * A template's fields are the error's arguments, and what follows a colon says how one is written: `{until:utc}`.
 */

import { type Hex, hexToBytes } from "viem";
import { formatAmount, formatDuration, formatShare, type Money, show } from "../format";
import { formatLease } from "./leases";

const STATES: Readonly<Record<string, readonly string[]>> = {
  state: ["none", "opened", "active", "ended", "cancelled", "rejected"],
  fault: ["none", "running", "filed", "appealed", "upheld", "executed", "dropped"],
  round: ["none", "requested", "drawn", "passed", "failed", "inconclusive"],
};

/** The template with its fields filled in. `money`: the pool's token, where it is known. */
export function fill(template: string, values: Readonly<Record<string, unknown>>, money?: Money): string {
  return template.replace(/\{(\w+)(?::(\w+))?\}/g, (_, name: string, form?: string) =>
    written(values[name], form, money),
  );
}

function written(value: unknown, form: string | undefined, money: Money | undefined): string {
  if (typeof value !== "bigint" && typeof value !== "number") return text(value);
  const number = BigInt(value);
  switch (form) {
    case "money":
      return money ? show(number, money) : `${number} token units`;
    case "tokens":
      return money ? formatAmount(number, money.decimals) : `${number} token units`;
    case "coin":
      return `${formatAmount(number, 18, 6)} of the chain's coin`;
    case "utc":
      return utc(number);
    case "span":
      return `${number} s`;
    case "duration":
      return formatDuration(Number(number));
    case "lease":
      return formatLease(number);
    case "share":
      return formatShare(Number(number));
    default:
      return (form && STATES[form]?.[Number(number)]) ?? String(number);
  }
}

/** 32 bytes of short ASCII, such as a reason, are read; other bytes stay as they are. */
function text(value: unknown): string {
  if (typeof value !== "string" || !/^0x[0-9a-f]{64}$/i.test(value)) return String(value);
  const bytes = [...hexToBytes(value as Hex)];
  const end = bytes.indexOf(0);
  const shown = end < 0 ? bytes : bytes.slice(0, end);
  const readable = shown.length > 0 && shown.every((byte) => byte >= 0x20 && byte < 0x7f);
  return readable ? String.fromCharCode(...shown) : value;
}

function utc(seconds: bigint): string {
  if (seconds > 253_402_300_799n) return String(seconds);
  return `${new Date(Number(seconds) * 1000).toISOString().replace("T", " ").slice(0, 19)} UTC`;
}
