import { useParams } from "react-router";
import { useMachinesOf, usePool, useRounds, useValidators, useVotes } from "../../api/queries";
import { Page } from "../../app/Page";
import { capitalised } from "../../format";
import { Address } from "../../ui/Address";
import { DataTable } from "../../ui/DataTable";
import { Empty } from "../../ui/Empty";
import { Facts } from "../../ui/Facts";
import { Money } from "../../ui/Money";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Time } from "../../ui/Time";
import { MachineLink } from "../market/MachineLink";
import { RoundState } from "../pool/RoundState";
import { recordOf } from "./record";
import { SeatState } from "./SeatState";

/** One seat: its stake, and what it said in each round for which it was drawn. */
export default function SeatPage() {
  const shown = useParams().seat ?? "";
  const token = usePool().data?.token;
  const seats = useValidators();
  const seat = seats.data?.items.find((known) => String(known.seat) === shown);
  const rounds = useRounds();
  const drawn = rounds.data?.items.filter((round) => seat && round.seats.includes(seat.seat)) ?? [];
  const votes = useVotes(drawn.map(({ round }) => round));
  const machines = useMachinesOf(drawn.map(({ machine }) => machine));
  const error = seats.error ?? rounds.error;
  if (error !== null) {
    return (
      <Page title={`Seat ${shown}`}>
        <ProblemView error={error} onRetry={() => void seats.refetch()} />
      </Page>
    );
  }
  if (seats.data === undefined || rounds.data === undefined) return <Skeleton rows={8} />;
  if (seat === undefined) {
    return (
      <Page title={`Seat ${shown}`}>
        <Empty says={`There is no seat ${shown}.`} />
      </Page>
    );
  }
  const record = recordOf(seat.seat, drawn, votes);
  return (
    <Page title={`Seat ${shown}`} command="leasehold validator list">
      <section className="panel" aria-label="The seat">
        <Facts
          facts={[
            ["Validator", <Address key="validator" address={seat.validator} />],
            ["Stake", <Money key="stake" amount={seat.stake} token={token} />],
            ["Stands at the level of", <Money key="level" amount={seat.level} token={token} />],
            ["Joined", <Time key="joined" at={seat.joined_at} past />],
            seat.leaves_at === null ? undefined : ["Leaves", <Time key="leaves" at={seat.leaves_at} />],
            ["State", <SeatState key="state" seat={seat} />],
            [`Drawn for, of the newest ${rounds.data.items.length} rounds`, String(record.length)],
            ["Showed what it found in", String(record.filter(({ vote }) => vote?.revealed).length)],
          ]}
        />
      </section>
      {record.length === 0 ? (
        <Empty says="It was drawn for none of the newest rounds." />
      ) : (
        <DataTable
          caption="Rounds for which it was drawn"
          rows={record}
          rowKey={({ round }) => round.round}
          columns={[
            { name: "Round", cell: ({ round }) => `Round ${round.round}` },
            {
              name: "Machine",
              cell: ({ round }) => <MachineLink number={round.machine} machine={machines.get(round.machine)} />,
            },
            { name: "Outcome", cell: ({ round }) => <RoundState state={round.state} /> },
            { name: "It said", cell: ({ said }) => capitalised(said) },
            { name: "Score it gave", numeric: true, cell: ({ vote }) => vote?.score ?? "–" },
            { name: "Score of all", numeric: true, cell: ({ round }) => round.score ?? "–" },
          ]}
        />
      )}
    </Page>
  );
}
