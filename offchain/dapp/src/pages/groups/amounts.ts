import { parseUnits } from "viem";

/** Token units of an amount as it is typed; null for what is none, nothing, or finer than the token. */
export function unitsIn(text: string, decimals: number): bigint | null {
  const found = /^([0-9]{1,30})(?:\.([0-9]{1,30}))?$/.exec(text.trim());
  if (!found || (found[2] ?? "").replace(/0+$/, "").length > decimals) return null;
  const units = parseUnits(text.trim(), decimals);
  return units > 0n ? units : null;
}
