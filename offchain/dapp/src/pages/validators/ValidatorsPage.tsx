import { Link } from "react-router";
import { usePool, useRounds, useValidators } from "../../api/queries";
import { Page } from "../../app/Page";
import { Address } from "../../ui/Address";
import { DataTable } from "../../ui/DataTable";
import { Empty } from "../../ui/Empty";
import { Money } from "../../ui/Money";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Time } from "../../ui/Time";
import { Rounds } from "../pool/Rounds";
import { SeatState } from "./SeatState";

/** Who measures machines and attests outages: seats, what each has at stake, and in how many rounds it was drawn. */
export default function ValidatorsPage() {
  const token = usePool().data?.token;
  const seats = useValidators();
  const rounds = useRounds();
  const drawn = (seat: number): number => rounds.data?.items.filter(({ seats: of }) => of.includes(seat)).length ?? 0;
  return (
    <Page title="Validators" command="leasehold validator list">
      <p>
        A validator buys seats with a stake. Committees are drawn from seats that have matured; each measures a machine
        by itself, and commits to what it found before anybody shows anything. To have seen otherwise than the others
        costs nothing. Who says nothing is fined out of that stake, and so is who agreed in what an arbiter took back.
      </p>
      {seats.error !== null ? (
        <ProblemView error={seats.error} onRetry={() => void seats.refetch()} />
      ) : seats.data === undefined ? (
        <Skeleton rows={4} />
      ) : seats.data.items.length === 0 ? (
        <Empty says="Nobody has bought a seat: no machine can be verified yet." />
      ) : (
        <DataTable
          caption="Validators' seats"
          rows={seats.data.items}
          rowKey={({ seat }) => seat}
          columns={[
            { name: "Seat", cell: ({ seat }) => <Link to={`/validators/${seat}`}>Seat {seat}</Link> },
            { name: "Validator", cell: ({ validator }) => <Address address={validator} /> },
            { name: "Stake", numeric: true, cell: ({ stake }) => <Money amount={stake} token={token} /> },
            { name: "Joined", cell: (seat) => <Time at={seat.joined_at} past /> },
            {
              name: `Drawn for, of the newest ${rounds.data?.items.length ?? "…"} rounds`,
              numeric: true,
              cell: ({ seat }) => drawn(seat),
            },
            { name: "State", cell: (seat) => <SeatState seat={seat} /> },
          ]}
        />
      )}
      {token && !seats.isPending && <Rounds token={token} />}
    </Page>
  );
}
