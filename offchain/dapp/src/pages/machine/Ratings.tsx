import type { Rating } from "../../api/machines";
import type { Token } from "../../api/types";
import { Address } from "../../ui/Address";
import { DataTable } from "../../ui/DataTable";
import { Money } from "../../ui/Money";
import { Time } from "../../ui/Time";

interface Props {
  readonly ratings: readonly Rating[];
  readonly token: Token | undefined;
}

/** What tenants gave it, the newest first, each with the fee by which it counts: who rates himself has paid for it. */
export function Ratings({ ratings, token }: Props) {
  if (ratings.length === 0) return null;
  return (
    <section className="rows" aria-label="Ratings">
      <h2>Ratings</h2>
      <DataTable
        caption="Ratings"
        rows={ratings.toSorted((one, other) => other.at - one.at)}
        rowKey={(rating) => rating.lease}
        columns={[
          { name: "Stars", cell: (rating) => `${rating.stars} of 5` },
          { name: "Lease", numeric: true, cell: (rating) => rating.lease },
          { name: "Tenant", cell: (rating) => <Address address={rating.tenant} /> },
          { name: "Counts by a fee of", numeric: true, cell: (rating) => <Money amount={rating.fee} token={token} /> },
          { name: "When", cell: (rating) => <Time at={rating.at} past /> },
        ]}
      />
    </section>
  );
}
