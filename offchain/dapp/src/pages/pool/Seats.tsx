import { Link } from "react-router";
import { useValidators } from "../../api/queries";
import type { Token } from "../../api/types";
import { Address } from "../../ui/Address";
import { DataTable } from "../../ui/DataTable";
import { Empty } from "../../ui/Empty";
import { Money } from "../../ui/Money";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Time } from "../../ui/Time";
import { SeatState } from "../validators/SeatState";

/** Validators' seats: one stake each, by which they measure and attest. */
export function Seats({ token }: { token: Token }) {
  const { data, error, refetch } = useValidators();
  return (
    <section className="rows" aria-label="Validators">
      <h2>
        <Link to="/validators">Validators</Link>
      </h2>
      {error !== null ? (
        <ProblemView error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton rows={4} />
      ) : data.items.length === 0 ? (
        <Empty says="Nobody has bought a seat: no machine can be verified yet." />
      ) : (
        <DataTable
          caption="Validators' seats"
          rows={data.items}
          rowKey={(seat) => seat.seat}
          columns={[
            { name: "Seat", cell: (seat) => <Link to={`/validators/${seat.seat}`}>Seat {seat.seat}</Link> },
            { name: "Validator", cell: (seat) => <Address address={seat.validator} /> },
            { name: "Stake", numeric: true, cell: (seat) => <Money amount={seat.stake} token={token} /> },
            { name: "Level", numeric: true, cell: (seat) => <Money amount={seat.level} token={token} /> },
            { name: "Joined", cell: (seat) => <Time at={seat.joined_at} past /> },
            {
              name: "State",
              cell: (seat) => <SeatState seat={seat} />,
            },
          ]}
        />
      )}
    </section>
  );
}
