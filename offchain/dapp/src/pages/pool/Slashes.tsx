import { useFaults, useMachinesOf } from "../../api/queries";
import type { Token } from "../../api/types";
import { capitalised, inWords } from "../../format";
import { DataTable } from "../../ui/DataTable";
import { Empty } from "../../ui/Empty";
import { Money } from "../../ui/Money";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Time } from "../../ui/Time";
import { MachineLink } from "../market/MachineLink";

/** Faults of any machine, the newest first, and what they took. */
export function Slashes({ token }: { token: Token }) {
  const { data, error, refetch } = useFaults();
  const machines = useMachinesOf(data?.items.map(({ machine }) => machine) ?? []);
  return (
    <section className="rows" aria-label="Slashes">
      <h2>Faults, and what they took of stakes</h2>
      {error !== null ? (
        <ProblemView error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton rows={4} />
      ) : data.items.length === 0 ? (
        <Empty says="No machine was ever at fault." />
      ) : (
        <DataTable
          caption="Faults"
          rows={data.items}
          rowKey={({ fault }) => fault}
          columns={[
            { name: "Fault", cell: ({ fault, kind }) => `${fault}, ${inWords(kind)}` },
            {
              name: "Machine",
              cell: ({ machine }) => <MachineLink number={machine} machine={machines.get(machine)} />,
            },
            { name: "State", cell: ({ state }) => capitalised(inWords(state)) },
            { name: "Began", cell: ({ from }) => <Time at={from} past /> },
            { name: "Slash", numeric: true, cell: ({ amount }) => <Money amount={amount} token={token} /> },
            {
              name: "Tenants' part",
              numeric: true,
              cell: ({ to_tenants: part }) => <Money amount={part} token={token} />,
            },
            {
              name: "Tenants have had",
              numeric: true,
              cell: (fault) => <Money amount={fault.compensated} token={token} />,
            },
          ]}
        />
      )}
    </section>
  );
}
