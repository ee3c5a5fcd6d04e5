/** What leases brought, by month and by lease: read from the gateway's movements, summed to the unit. Pure. */
import { formatAmount, type Money, parseAmount } from "../../format";
import { Problem } from "../../problem";

/** One movement in the provider's ledger, in token units: what a lease brought, or what ending one early cost. */
export interface Movement {
  readonly time: number;
  readonly kind: string;
  readonly amount: bigint;
  readonly lease: string;
  readonly machine: string;
}

/** What one lease brought in a month. */
export interface InvoiceLine {
  readonly lease: string;
  readonly machine: string;
  readonly movements: number;
  readonly amount: bigint;
}

/** A month in UTC, `2026-11`. */
export interface Invoice {
  readonly month: string;
  readonly amount: bigint;
  readonly lines: readonly InvoiceLine[];
}

const COLUMNS = "time,kind,amount,token,lease,machine,transaction";

/** The gateway's table of movements. Throws a Problem for anything else: sums of what was half read are no invoice. */
export function readMovements(csv: string, money: Money): readonly Movement[] {
  const [head, ...rows] = csv.split("\r\n").filter((row) => row !== "");
  if (head !== COLUMNS) throw unread(head ?? "");
  return rows.map((row) => {
    const [time = "", kind = "", amount = "", , lease = "", machine = ""] = row.split(",");
    const at = Date.parse(time) / 1000;
    const units = parseAmount(amount.replace(/^-/, ""), money.decimals);
    if (!Number.isFinite(at) || units === undefined || !/^\d*(\.\d+)?$/.test(lease) || !/^\d*$/.test(machine)) {
      throw unread(row);
    }
    return { time: at, kind, amount: amount.startsWith("-") ? -units : units, lease, machine };
  });
}

function unread(row: string): Problem {
  return new Problem("movements-unread", "The gateway's list of movements cannot be read.", "Use another gateway.", {
    details: row.slice(0, 200),
  });
}

/** Months, the newest first; their leases by number. */
export function invoicesOf(movements: readonly Movement[]): readonly Invoice[] {
  const months = new Map<string, Map<string, InvoiceLine>>();
  for (const { time, lease, machine, amount } of movements) {
    const month = new Date(time * 1000).toISOString().slice(0, 7);
    const lines = months.get(month) ?? new Map<string, InvoiceLine>();
    const line = lines.get(lease) ?? { lease, machine, movements: 0, amount: 0n };
    lines.set(lease, { ...line, movements: line.movements + 1, amount: line.amount + amount });
    months.set(month, lines);
  }
  return [...months]
    .map(([month, lines]) => ({
      month,
      amount: [...lines.values()].reduce((sum, line) => sum + line.amount, 0n),
      lines: [...lines.values()].sort((a, b) => Number(a.lease) - Number(b.lease)),
    }))
    .sort((a, b) => (a.month < b.month ? 1 : -1));
}

/** As a table that spreadsheets read: a line for each lease of each month. A token's name that begins a formula begins none. */
export function invoiceCsv(invoices: readonly Invoice[], money: Money): string {
  const symbol = `"${money.symbol.replace(/^[=+\-@\t\r]+/, "").replaceAll('"', '""')}"`;
  const rows = invoices.flatMap(({ month, lines }) =>
    lines.map(({ lease, machine, movements, amount }) =>
      [month, lease, machine, movements, formatAmount(amount, money.decimals), symbol].join(","),
    ),
  );
  return [`month,lease,machine,movements,amount,token`, ...rows, ""].join("\r\n");
}
