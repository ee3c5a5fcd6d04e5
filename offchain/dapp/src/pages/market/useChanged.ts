import { useEffect, useRef, useState } from "react";
import type { MachineItem } from "../../api/machines";

/** Which of the machines are not as they were when they were last shown. One that was not shown then has not changed. */
export function useChanged(machines: readonly MachineItem[]): ReadonlySet<number> {
  const before = useRef(new Map<number, string>());
  const [changed, setChanged] = useState<ReadonlySet<number>>(new Set());
  useEffect(() => {
    const now = new Map(machines.map((machine) => [machine.id, compared(machine)]));
    const others = [...now].filter(([id, text]) => (before.current.get(id) ?? text) !== text).map(([id]) => id);
    before.current = now;
    if (others.length > 0) setChanged(new Set(others));
  }, [machines]);
  return changed;
}

function compared({ price, spot_price, state, free_cells, verified }: MachineItem): string {
  return [price, spot_price, state, free_cells, verified].join();
}
