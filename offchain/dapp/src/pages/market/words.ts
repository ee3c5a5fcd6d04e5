import type { MachineItem } from "../../api/machines";
import { formatShare, formatSize } from "../../format";
import type { Meaning } from "../../ui/State";

/** What a machine is called in a row: its cards or its processors, and how many. */
export function nameOf(machine: MachineItem): string {
  const model = machine.kind === "cpu" ? (machine.cpu ?? "CPU") : (machine.gpu ?? "Unknown");
  return machine.gpus > 1 ? `${machine.gpus} × ${model}` : model;
}

/** As `nameOf`, or nothing where its documents do not say what it is. */
export function knownName(machine: MachineItem | undefined): string | undefined {
  return machine === undefined || machine.kind === null ? undefined : nameOf(machine);
}

/** A share in words: `1/8 of a GPU`, `2 CPU units`. */
export function shareIn(cells: number, kind: Kind): string {
  const unit = unitOf(kind);
  return `${formatShare(cells)} ${cells < 8 ? `of a ${unit}` : cells === 8 ? unit : `${unit}s`}`;
}

type Kind = MachineItem["kind"] | undefined;

/** What it is leased by: a host without cards sells parts of itself. */
export function unitOf(kind: Kind): string {
  return kind === "cpu" ? "CPU unit" : kind === "gpu" ? "GPU" : "unit";
}

/** What its price is for, such as `GPU-hour`. */
export function perOf(kind: Kind): string {
  return `${unitOf(kind)}-hour`;
}

/** Memory of each card, as such cards are sold: a driver shows a little less. `–` where nobody knows. */
export function memoryOf(machine: MachineItem): string {
  const sold = /-(\d+)g$/.exec(machine.class ?? "")?.[1];
  if (sold !== undefined) return `${sold} GB`;
  return machine.mem === null ? "–" : formatSize(machine.mem);
}

/** Its state as a meaning and a word. */
export function stateOf(machine: MachineItem): { is: Meaning; word: string } {
  if (machine.down_since !== null) return { is: "bad", word: "Down" };
  return STATES[machine.state];
}

const STATES: Readonly<Record<MachineItem["state"], { is: Meaning; word: string }>> = {
  free: { is: "good", word: "Free" },
  busy: { is: "waiting", word: "Busy" },
  closed: { is: "warning", word: "Closed" },
  retired: { is: "plain", word: "Retired" },
};

/** Of 100 parts, as a row has it: `99.98 %`. */
export function percent(value: string | null): string {
  return value === null ? "–" : `${value} %`;
}

/** `4.8 of 5, by 12`; who has no rating says so. */
export function starsOf(machine: MachineItem): string {
  return machine.stars === null ? "unrated" : `${machine.stars} by ${machine.ratings}`;
}
