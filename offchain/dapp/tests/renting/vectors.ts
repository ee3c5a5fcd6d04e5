/** What the library comes to, from the repository's own vectors: tests/vectors/renting.py makes them. */
import { readFileSync } from "node:fs";

type Sections = "workloads" | "quotes" | "bills" | "leases" | "cids";

const AMOUNTS = new Set([
  ...[
    "price",
    "maxPrice",
    "spotPrice",
    "hourly",
    "deposit",
    "fromLedger",
    "pulled",
    "approve",
    "used",
    "unused",
    "extension",
  ],
  ...[
    "holdFeePerHour",
    "holdFeeAtMost",
    "penaltyAtMost",
    "ledger",
    "wallet",
    "allowance",
    "settled",
    "segmentSettled",
    "busy",
  ],
]);

// biome-ignore lint/suspicious/noExplicitAny: the vectors are as many shapes as there are sections
type Vector = any;

export const vectors: Record<string, Vector> & { readonly [section in Sections]: Vector[] } = JSON.parse(
  readFileSync("../../tests/vectors/renting.json", "utf8"),
  (name, value: unknown) => (AMOUNTS.has(name) && typeof value === "number" ? BigInt(value) : value),
);
