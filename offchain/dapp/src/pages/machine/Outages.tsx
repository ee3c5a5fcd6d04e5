import type { Fault } from "../../api/machines";
import type { Token } from "../../api/types";
import { formatDuration, inWords } from "../../format";
import { DataTable } from "../../ui/DataTable";
import { Money } from "../../ui/Money";
import { Time } from "../../ui/Time";

interface Props {
  readonly faults: readonly Fault[];
  readonly token: Token | undefined;
}

/** Outages and other faults: when, how long, and what they took of the stake. */
export function Outages({ faults, token }: Props) {
  if (faults.length === 0) return null;
  return (
    <section className="rows" aria-label="Faults">
      <h2>Faults</h2>
      <DataTable
        caption="Faults"
        rows={faults}
        rowKey={(fault) => fault.fault}
        columns={[
          { name: "Fault", cell: (fault) => `${fault.fault}, ${inWords(fault.kind)}` },
          { name: "State", cell: (fault) => inWords(fault.state) },
          { name: "Began", cell: (fault) => <Time at={fault.from} past /> },
          {
            name: "Lasted",
            numeric: true,
            cell: (fault) => (fault.to === null ? "still" : formatDuration(fault.to - fault.from)),
          },
          { name: "Slash", numeric: true, cell: (fault) => <Money amount={fault.amount} token={token} /> },
          { name: "To tenants", numeric: true, cell: (fault) => <Money amount={fault.compensated} token={token} /> },
        ]}
      />
    </section>
  );
}
