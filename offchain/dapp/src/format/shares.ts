/** A share as people write it: parts of a GPU, or whole ones. */
export function formatShare(cells: number): string {
  return { 1: "1/8", 2: "1/4", 4: "1/2" }[cells] ?? String(Math.floor(cells / 8));
}

/** How much of a machine is free: cells as GPUs, with a fraction where one is in part: `1 3/4`. */
export function formatFree(cells: number): string {
  const whole = Math.floor(cells / 8);
  const part = ["", "1/8", "1/4", "3/8", "1/2", "5/8", "3/4", "7/8"][cells % 8];
  return part ? (whole > 0 ? `${whole} ${part}` : part) : String(whole);
}

/** `80 GB`, the way cards and disks are sold. */
export function formatSize(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let size = bytes;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${size >= 100 ? Math.round(size) : Number(size.toFixed(1))} ${units[unit]}`;
}
