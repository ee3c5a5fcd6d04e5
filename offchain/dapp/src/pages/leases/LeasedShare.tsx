import { Link } from "react-router";
import type { MachineItem } from "../../api/machines";
import { formatShare } from "../../format";
import { knownName } from "../market/words";

interface Props {
  readonly cells: number;
  /** The machine's. */
  readonly number: number;
  /** As the gateway has it, once it has come. */
  readonly machine: MachineItem | undefined;
  /** Whether the machine's page is a link; not where the row is one. */
  readonly linked?: boolean;
}

/** How much of which machine is leased: the machine by its name, where its documents are here, and by its number. */
export function LeasedShare({ cells, number, machine, linked = false }: Props) {
  const name = knownName(machine);
  const called = name ?? `machine ${number}`;
  return (
    <span className="leased-share">
      {formatShare(cells)} of {linked ? <Link to={`/machines/${number}`}>{called}</Link> : called}
      {name !== undefined && <span className="soft">, machine {number}</span>}
    </span>
  );
}
