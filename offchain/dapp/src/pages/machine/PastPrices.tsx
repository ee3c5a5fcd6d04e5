import type { MachineWhole } from "../../api/machines";
import type { Token } from "../../api/types";
import { DataTable } from "../../ui/DataTable";
import { Money } from "../../ui/Money";
import { Time } from "../../ui/Time";

interface Props {
  readonly machine: MachineWhole;
  readonly token: Token | undefined;
}

/** What the machine asked before, the newest first. An open lease keeps the price that it was opened at. */
export function PastPrices({ machine, token }: Props) {
  if (machine.terms_history.length < 2) return null;
  return (
    <section className="rows" aria-label="Former prices">
      <h2>What it has asked</h2>
      <DataTable
        caption="Former prices"
        rows={machine.terms_history.toReversed()}
        rowKey={(terms) => `${terms.revision}-${terms.block}`}
        columns={[
          { name: "Since", cell: (terms) => (terms.time === null ? "–" : <Time at={terms.time} past />) },
          { name: "Price", numeric: true, cell: (terms) => <Money amount={terms.price} token={token} /> },
          {
            name: "As spot",
            numeric: true,
            cell: (terms) => (terms.spot_price === "0" ? "–" : <Money amount={terms.spot_price} token={token} />),
          },
          { name: "Revision", numeric: true, cell: (terms) => terms.revision },
        ]}
      />
    </section>
  );
}
