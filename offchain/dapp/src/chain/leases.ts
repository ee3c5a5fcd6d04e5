/** Lease ids: `slot << 16 | generation`, shown as `12` and, from the slot's second use on, `12.1`. */
import { Problem } from "../problem";

export function formatLease(lease: bigint): string {
  const generation = lease & 0xffffn;
  const slot = lease >> 16n;
  return generation ? `${slot}.${generation}` : `${slot}`;
}

/** The id of a lease as `formatLease` shows it. Throws a Problem for anything else. */
export function parseLease(text: string): bigint {
  const found = /^([1-9][0-9]{0,75})(?:\.([0-9]{1,5}))?$/.exec(text.trim());
  const generation = BigInt(found?.[2] ?? 0);
  if (!found?.[1] || generation > 0xffffn) {
    throw new Problem("invalid-lease-id", `“${text}” is not a lease.`, "Write its number, such as 12 or 12.1.");
  }
  return (BigInt(found[1]) << 16n) | generation;
}

/** How many cells a placement (`gpuMask << 8 | cellMask`) has. */
export function cellsOf(placement: number): number {
  return bits(placement >> 8) * bits(placement & 0xff);
}

function bits(mask: number): number {
  let count = 0;
  for (let rest = mask; rest; rest &= rest - 1) count += 1;
  return count;
}
