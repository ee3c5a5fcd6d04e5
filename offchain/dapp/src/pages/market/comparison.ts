import type { MachineWhole } from "../../api/machines";
import { formatDuration, formatFree, formatRounded, formatShare, formatSize, type Money } from "../../format";
import type { Meaning } from "../../ui/State";
import { memoryOf, percent, perOf, starsOf, stateOf } from "./words";

/** A row: a value of each machine, and the places of those that are best, where one is better than another. */
export interface CompareRow {
  readonly name: string;
  readonly cells: readonly string[];
  readonly best: ReadonlySet<number>;
  /** What each value means, where it is a state. */
  readonly meanings?: readonly Meaning[];
}

const PLACES = 6; // two prices that differ are not shown alike

type Judge = (machine: MachineWhole) => number | null;

/** Machines row by row. token: of the prices; without it they are not shown yet. */
export function comparison(machines: readonly MachineWhole[], token: Money | undefined): CompareRow[] {
  const row = (name: string, cell: (machine: MachineWhole) => string, worth?: Judge): CompareRow => ({
    name,
    cells: machines.map(cell),
    best: worth === undefined ? new Set() : best(machines.map(worth)),
  });
  const money = (units: string | null, kind: MachineWhole["kind"]): string => {
    if (units === null) return "not sold";
    if (token === undefined) return "…";
    const said = `${formatRounded(BigInt(units), token.decimals, PLACES)} ${token.symbol}`;
    return kind === "cpu" ? `${said} / ${perOf(kind)}` : said;
  };
  return [
    { ...row("State", (machine) => stateOf(machine).word), meanings: machines.map((machine) => stateOf(machine).is) },
    row(
      "Price per GPU-hour",
      ({ kind, price }) => money(price, kind),
      ({ price }) => -Number(price),
    ),
    row(
      "Spot price per GPU-hour",
      ({ kind, spot_price }) => money(spot_price, kind),
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
