import type { MachineItem } from "../../api/machines";
import { type MarketUrl, MOST_COMPARED } from "./useMarketUrl";
import { nameOf } from "./words";

/** Chooses a machine to be compared. */
export function CompareBox({ machine, url }: { machine: MachineItem; url: MarketUrl }) {
  const chosen = url.chosen.includes(machine.id);
  const full = url.chosen.length >= MOST_COMPARED;
  return (
    <label className="compare-box" title={full && !chosen ? `Four at most are compared` : "Compare"}>
      <input
        type="checkbox"
        checked={chosen}
        disabled={full && !chosen}
        aria-label={`Compare ${nameOf(machine)}, machine ${machine.id}`}
        onChange={() => url.toggle(machine.id)}
      />
    </label>
  );
}
