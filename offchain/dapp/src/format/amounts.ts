/** Amounts as people write them. Money never passes through a float: what a row rounds is marked, what costs is exact. */
export interface Money {
  readonly symbol: string;
  readonly decimals: number;
}

/** Exact, or cut to `places` decimals and marked `~` where that lost something. */
export function formatAmount(units: bigint, decimals: number, places?: number): string {
  const size = units < 0n ? -units : units;
  const scale = 10n ** BigInt(decimals);
  let digits = (size % scale).toString().padStart(decimals, "0").replace(/0+$/, "");
  let mark = units < 0n ? "-" : "";
  if (places !== undefined && digits.length > places) {
    digits = digits.slice(0, places).replace(/0+$/, "");
    mark = `~${mark}`;
  }
  return `${mark}${size / scale}${digits ? `.${digits}` : ""}`;
}

/** As a row has it: rounded to `places` decimals, of which two are always shown, thousands apart. What is less than that says so. */
export function formatRounded(units: bigint, decimals: number, places = 4): string {
  if (decimals <= places) return padded(formatAmount(units, decimals));
  const step = 10n ** BigInt(decimals - places);
  const size = units < 0n ? -units : units;
  const rounded = (size + step / 2n) / step;
  if (rounded === 0n && size > 0n) return `<${formatAmount(1n, places)}`;
  return padded(formatAmount(units < 0n ? -rounded : rounded, places));
}

function padded(amount: string): string {
  const [whole, digits = ""] = amount.split(".");
  return `${thousands(whole ?? "")}.${digits.padEnd(2, "0")}`;
}

/** `12,345`: how many there are of something. */
export function formatCount(count: number): string {
  return thousands(String(count));
}

function thousands(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `2.5 USDT`, for people. */
export function show(units: bigint, money: Money, places = 6): string {
  return `${formatAmount(units, money.decimals, places)} ${money.symbol}`;
}

/** `2.5 USDT` to the last unit: beside a button that costs, nothing is rounded. */
export function exact(units: bigint, money: Money): string {
  return `${formatAmount(units, money.decimals)} ${money.symbol}`;
}

/** For charts alone, where a pixel is coarser than a float. */
export function plotted(units: string, decimals: number): number {
  return Number(units) / 10 ** decimals;
}

/** The units of an amount as people write it, or `undefined` for what is none; nothing is rounded away. */
export function parseAmount(text: string, decimals: number): bigint | undefined {
  const found = /^(\d{1,30})(?:\.(\d+))?$/.exec(text.trim());
  const digits = found?.[2] ?? "";
  if (!found?.[1] || digits.length > decimals) return undefined;
  return BigInt(found[1]) * 10n ** BigInt(decimals) + BigInt(digits.padEnd(decimals, "0") || "0");
}
