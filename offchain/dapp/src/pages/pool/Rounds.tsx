import { useMachinesOf, useRounds } from "../../api/queries";
import type { Token } from "../../api/types";
import { DataTable } from "../../ui/DataTable";
import { Empty } from "../../ui/Empty";
import { Money } from "../../ui/Money";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Time } from "../../ui/Time";
import { MachineLink } from "../market/MachineLink";
import { RoundState } from "./RoundState";

/** Verifications of machines by committees, the newest first. */
export function Rounds({ token }: { token: Token }) {
  const { data, error, refetch } = useRounds();
  const machines = useMachinesOf(data?.items.map(({ machine }) => machine) ?? []);
  return (
    <section className="rows" aria-label="Committee rounds">
      <h2>Committee rounds</h2>
      {error !== null ? (
        <ProblemView error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton rows={4} />
      ) : data.items.length === 0 ? (
        <Empty says="No machine has been measured yet. Its provider asks for it: leasehold validator request MACHINE" />
      ) : (
        <DataTable
          caption="Committee rounds"
          rows={data.items}
          rowKey={(round) => round.round}
          columns={[
            { name: "Round", cell: (round) => `Round ${round.round}` },
            {
              name: "Machine",
              cell: ({ machine }) => <MachineLink number={machine} machine={machines.get(machine)} />,
            },
            { name: "State", cell: (round) => <RoundState state={round.state} /> },
            { name: "Asked", cell: (round) => <Time at={round.requested_at} past /> },
            { name: "Seats", cell: (round) => (round.seats.length === 0 ? "not drawn" : round.seats.join(", ")) },
            { name: "Score", numeric: true, cell: (round) => round.score ?? "–" },
            { name: "Fee", numeric: true, cell: (round) => <Money amount={round.fee} token={token} /> },
          ]}
        />
      )}
    </section>
  );
}
