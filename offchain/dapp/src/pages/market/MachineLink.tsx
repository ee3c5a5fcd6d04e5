import { Link } from "react-router";
import type { MachineItem } from "../../api/machines";
import { knownName } from "./words";

interface Props {
  readonly number: number;
  /** As the gateway has it, once it has come. */
  readonly machine: MachineItem | undefined;
}

/** A machine of a row, by its name where its documents are here, and by its number. */
export function MachineLink({ number, machine }: Props) {
  const name = knownName(machine);
  return (
    <span>
      <Link to={`/machines/${number}`}>{name ?? `Machine ${number}`}</Link>
      {name !== undefined && <span className="soft"> {number}</span>}
    </span>
  );
}
