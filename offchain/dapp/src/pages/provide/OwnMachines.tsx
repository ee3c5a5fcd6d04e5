import { Link } from "react-router";
import type { MachineItem } from "../../api/machines";
import { useMachines } from "../../api/queries";
import type { Token } from "../../api/types";
import { formatFree } from "../../format";
import { DataTable } from "../../ui/DataTable";
import { Money } from "../../ui/Money";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Time } from "../../ui/Time";
import { MachineState } from "../market/columns";
import { nameOf, percent, perOf } from "../market/words";

interface Props {
  readonly provider: string;
  /** All that the provider ever had; retired ones are not listed. */
  readonly machines: readonly number[];
  readonly token: Token | undefined;
  /** Whether whoever looks may manage them. */
  readonly managed: boolean;
}

/** A provider's machines that are not retired. */
export function OwnMachines({ provider, machines, token, managed }: Props) {
  const { data, error, hasNextPage, fetchNextPage, refetch } = useMachines({ q: `provider:${provider}`, sort: "id" });
  const shown = data?.pages.flatMap((part) => part.items) ?? [];
  return (
    <section className="rows" aria-label="Machines">
      <h2>
        Machines{" "}
        <span className="soft small">
          {data?.pages[0]?.total ?? "…"} of {machines.length} ever registered
        </span>
      </h2>
      {error !== null ? (
        <ProblemView error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton rows={4} />
      ) : (
        <DataTable
          caption="The provider's machines"
          rows={shown}
          rowKey={(machine) => machine.id}
          columns={[
            {
              name: "Machine",
              cell: (machine) => (
                <Link to={`/machines/${machine.id}`}>
                  {nameOf(machine)}, {machine.id}
                </Link>
              ),
            },
            { name: "State", cell: (machine) => <MachineState machine={machine} /> },
            {
              name: "Free",
              numeric: true,
              cell: (machine) => `${formatFree(machine.free_cells)} of ${machine.gpus}`,
            },
            {
              name: "Price",
              numeric: true,
              cell: (machine) => <Money amount={machine.price} token={token} per={perOf(machine.kind)} />,
            },
            { name: "Stake", numeric: true, cell: (machine) => <Money amount={machine.stake} token={token} /> },
            { name: "Up", numeric: true, cell: (machine) => percent(machine.uptime) },
            {
              name: "Seen",
              cell: (machine) => (machine.last_seen === null ? "never" : <Time at={machine.last_seen} past />),
            },
            ...(managed
              ? [
                  {
                    name: "Terms and stake",
                    cell: (machine: MachineItem) => <Link to={`/provide/${machine.id}`}>Manage {machine.id}</Link>,
                  },
                ]
              : []),
          ]}
        />
      )}
      {managed && (
        <p className="small soft">
          A retired machine is managed by its number: its stake is taken back there, too. You registered{" "}
          {machines.join(", ")}.
        </p>
      )}
      {hasNextPage && (
        <button type="button" className="button" onClick={() => void fetchNextPage()}>
          Show more
        </button>
      )}
    </section>
  );
}
