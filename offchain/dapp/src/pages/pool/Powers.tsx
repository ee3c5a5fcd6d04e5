import type { Power } from "../../api/pools";
import { capitalised } from "../../format";
import { Address } from "../../ui/Address";
import { DataTable } from "../../ui/DataTable";
import "./pool.css";

/** Who can take at most what, how fast, and how to leave first. */
export function Powers({ powers }: { powers: readonly Power[] }) {
  return (
    <section className="rows prose-table" aria-label="Powers">
      <h2>Who can take at most what</h2>
      <DataTable
        caption="Powers"
        rows={powers}
        rowKey={(power) => `${power.who}: ${power.takes_at_most}`}
        columns={[
          {
            name: "Who",
            cell: (power) => (
              <span className="power-who">
                {capitalised(power.who)}
                {power.address !== null && <Address address={power.address} />}
              </span>
            ),
          },
          { name: "Can take at most", cell: (power) => capitalised(power.takes_at_most) },
          { name: "How fast", cell: (power) => capitalised(power.when) },
          {
            name: "How to leave first",
            cell: (power) => (power.leave_first === "-" ? "No need: it takes nothing" : capitalised(power.leave_first)),
          },
        ]}
      />
    </section>
  );
}
