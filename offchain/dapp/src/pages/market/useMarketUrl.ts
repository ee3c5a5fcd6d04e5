import { useMemo } from "react";
import { useSearchParams } from "react-router";

export const MOST_COMPARED = 4;
const DEFAULTS = { q: "", sort: "price", view: "table" } as const;

/** What the market shows, as its address has it: so that a search can be kept, sent and gone back to. */
export interface MarketUrl {
  readonly q: string;
  readonly sort: string;
  readonly view: "table" | "cards";
  /** Machines that are chosen to be compared. */
  readonly chosen: readonly number[];
  set(change: Partial<Record<"q" | "sort" | "view", string>>): void;
  /** Puts a machine among the compared ones, or takes it out. */
  toggle(machine: number): void;
  clear(): void;
}

/** It stays the same as long as the address does: what is made of it need not be made anew. */
export function useMarketUrl(): MarketUrl {
  const [params, setParams] = useSearchParams();
  return useMemo(() => {
    const chosen = machinesIn(params.get("compare"));
    const write = (name: string, value: string, usual: string): void =>
      setParams(
        (before) => {
          const after = new URLSearchParams(before);
          if (value === usual) after.delete(name);
          else after.set(name, value);
          return after;
        },
        { replace: true },
      );
    return {
      q: params.get("q") ?? DEFAULTS.q,
      sort: params.get("sort") ?? DEFAULTS.sort,
      view: params.get("view") === "cards" ? "cards" : "table",
      chosen,
      set: (change) => {
        for (const name of ["q", "sort", "view"] as const) {
          const value = change[name];
          if (value !== undefined) write(name, value, DEFAULTS[name]);
        }
      },
      toggle: (machine) => write("compare", toggled(chosen, machine).join(), ""),
      clear: () => write("compare", "", ""),
    };
  }, [params, setParams]);
}

/** Numbers of machines as an address has them, none twice and no more than can be compared. */
export function machinesIn(text: string | null): number[] {
  const numbers = (text ?? "").split(",").filter((part) => /^\d{1,9}$/.test(part));
  return [...new Set(numbers.map(Number))].slice(0, MOST_COMPARED);
}

function toggled(chosen: readonly number[], machine: number): number[] {
  const rest = chosen.filter((other) => other !== machine);
  return rest.length < chosen.length ? rest : [...rest, machine].slice(0, MOST_COMPARED);
}
