/** Which shares fit on a machine, as the contract's `Cells` places them. The library's `_placing.py` says why. */
const STARTS: Readonly<Record<number, readonly number[]>> = { 1: [0, 1, 2, 3, 4, 5, 6], 2: [0, 2, 4], 4: [0, 4] };

/** Whether a machine of `gpus` GPUs could ever serve a share of `cells`. */
export function validShare(cells: number, gpus: number): boolean {
  return cells in STARTS || (cells > 0 && cells % 8 === 0 && cells / 8 <= gpus);
}

/** Whether the share has a place beside the cells in `busy`. */
export function fits(busy: bigint, gpus: number, cells: number): boolean {
  if (!validShare(cells, gpus)) return false;
  const cards = Array.from({ length: gpus }, (_, gpu) => Number((busy >> BigInt(8 * gpu)) & 0xffn));
  const starts = STARTS[cells];
  if (!starts) return cards.filter((card) => card === 0).length >= cells / 8;
  const mask = (1 << cells) - 1;
  return cards.some((card) => starts.some((start) => (card & (mask << start)) === 0));
}

/** The shares that a machine can lease now, the smallest first, in cells. */
export function sharesOf(machine: { busy: bigint; gpus: number; smallestShare: number }): number[] {
  const whole = Array.from({ length: machine.gpus }, (_, gpu) => 8 * (gpu + 1));
  return [1, 2, 4, ...whole].filter(
    (cells) => cells >= machine.smallestShare && fits(machine.busy, machine.gpus, cells),
  );
}
