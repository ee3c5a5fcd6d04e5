import { useSearchParams } from "react-router";

/** What is being rented, as the address has it: it can be sent to somebody, and survives a reload. */
export interface RentUrl {
  readonly machine: number | null;
  readonly template: string;
  /** Cells; 0: the machine's least share. */
  readonly share: number;
  readonly seconds: number;
  readonly spot: boolean;
  /** The group or Safe that rents; empty: the wallet itself. */
  readonly as: string;
}

const HOUR = 3_600;

export function useRentUrl(): readonly [RentUrl, (change: Partial<RentUrl>) => void] {
  const [parameters, setParameters] = useSearchParams();
  const machine = Number(parameters.get("machine"));
  const url: RentUrl = {
    machine: Number.isInteger(machine) && machine > 0 ? machine : null,
    template: parameters.get("template") ?? "",
    share: Number(parameters.get("cells")) || 0,
    seconds: Number(parameters.get("seconds")) || HOUR,
    spot: parameters.get("spot") === "1",
    as: parameters.get("as") ?? "",
  };
  const change = (changed: Partial<RentUrl>): void => {
    const next = { ...url, ...changed };
    const written = {
      ...(next.machine ? { machine: String(next.machine) } : {}),
      ...(next.template ? { template: next.template } : {}),
      ...(next.share ? { cells: String(next.share) } : {}),
      seconds: String(next.seconds),
      ...(next.spot ? { spot: "1" } : {}),
      ...(next.as ? { as: next.as } : {}),
    };
    setParameters(written, { replace: true });
  };
  return [url, change];
}
