import type { MachineWhole } from "../../api/machines";
import { exact, formatDuration, formatFree, formatShare, formatSize, type Money } from "../../format";
import { memoryOf, percent, perOf, starsOf, stateOf } from "./words";

/** A row: a value of each machine, and the places of those that are best, where one is better than another. */
export interface CompareRow {
  readonly name: string;
  readonly cells: readonly string[];
  readonly best: ReadonlySet<number>;
}

type Judge = (machine: MachineWhole) => number | null;

/** Machines row by row. token: of the prices; without it they are not shown yet. */
export function comparison(machines: readonly MachineWhole[], token: Money | undefined): CompareRow[] {
  const row = (name: string, cell: (machine: MachineWhole) => string, worth?: Judge): CompareRow => ({
    name,
    cells: machines.map(cell),
    best: worth === undefined ? new Set() : best(machines.map(worth)),
  });
  const money = (units: string | null): string =>
    units === null ? "not sold" : token === undefined ? "…" : exact(BigInt(units), token);
  return [
    row("State", (machine) => stateOf(machine).word),
    row(
      "Price per GPU-hour",
      ({ kind, price }) => (kind === "cpu" ? `${money(price)} / ${perOf(kind)}` : money(price)),
      ({ price }) => -Number(price),
    ),
    row(
      "As spot",
      ({ spot_price }) => money(spot_price),
      ({ spot_price }) => number(spot_price, -1),
    ),
    row(
      "Free",
      (machine) => `${formatFree(machine.free_cells)} of ${machine.gpus}`,
      (machine) => machine.free_cells,
    ),
    row("Least share", (machine) => formatShare(machine.smallest)),
    row("Memory of each", memoryOf, ({ mem }) => mem),
    row(
      "Measured by a committee",
      ({ verified }) => (verified ? "yes" : "no"),
      ({ verified }) => Number(verified),
    ),
    row(
      "Provider's score",
      ({ score }) => String(score ?? "–"),
      ({ score }) => score,
    ),
    row("Stars", starsOf, ({ stars }) => number(stars)),
    row(
      "Up in 30 days",
      ({ uptime }) => percent(uptime),
      ({ uptime }) => number(uptime),
    ),
    row(
      "Leases started",
      ({ started }) => percent(started),
      ({ started }) => number(started),
    ),
    row(
      "Trial",
      ({ trial }) => (trial ? formatDuration(trial) : "none"),
      ({ trial }) => trial,
    ),
    row("Shortest lease", ({ min }) => formatDuration(min)),
    row("Longest lease", ({ max }) => formatDuration(max)),
    row("Processors", ({ hardware }) => (hardware === null ? "–" : `${hardware.cpu.cores} × ${hardware.cpu.model}`)),
    row("Memory of the host", ({ hardware }) => (hardware === null ? "–" : formatSize(hardware.memory_bytes))),
    row("Disk", ({ hardware }) => (hardware === null ? "–" : formatSize(hardware.disk.bytes))),
    row("Country", ({ location }) => location.country ?? "–"),
    row(
      "Images at hand",
      ({ images_cached }) => String(images_cached.length),
      (machine) => machine.images_cached.length,
    ),
  ];
}

/** The places of the highest value, unless all that are known are alike. */
function best(values: readonly (number | null)[]): Set<number> {
  const known = values.filter((value) => value !== null);
  const most = Math.max(...known);
  if (known.every((value) => value === most)) return new Set();
  return new Set(values.flatMap((value, place) => (value === most ? [place] : [])));
}

function number(text: string | null, sign = 1): number | null {
  return text === null ? null : sign * Number(text);
}
