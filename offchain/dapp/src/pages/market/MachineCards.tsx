import type { ReactNode } from "react";
import { Link } from "react-router";
import type { MachineItem } from "../../api/machines";
import type { Token } from "../../api/types";
import { formatFree } from "../../format";
import { Money } from "../../ui/Money";
import { Time } from "../../ui/Time";
import { CompareBox } from "./CompareBox";
import { MachineState } from "./columns";
import type { MarketUrl } from "./useMarketUrl";
import { memoryOf, nameOf, percent, perOf, starsOf } from "./words";

interface Props {
  readonly machines: readonly MachineItem[];
  readonly token: Token | undefined;
  readonly url: MarketUrl;
  readonly changed: ReadonlySet<number>;
}

/** Machines as cards that are compared at a glance: what, how much, whether now. */
export function MachineCards({ machines, token, url, changed }: Props) {
  return (
    <ul className="cards" aria-label="Machines">
      {machines.map((machine) => (
        <li key={machine.id} className={changed.has(machine.id) ? "card changed" : "card"}>
          <div className="line apart card-head">
            <span className="machine-name">
              <CompareBox machine={machine} url={url} />
              <Link to={`/machines/${machine.id}`}>{nameOf(machine)}</Link>
              <span className="soft small">{machine.id}</span>
            </span>
            <Money amount={machine.price} token={token} per={perOf(machine.kind)} />
          </div>
          <div className="line apart small">
            <MachineState machine={machine} />
            <span className="numbers">
              {formatFree(machine.free_cells)} of {machine.gpus} free
            </span>
          </div>
          <dl>
            <Row name="Memory" value={memoryOf(machine)} />
            <Row name="Score" value={machine.score ?? "–"} />
            <Row name="Stars" value={starsOf(machine)} />
            <Row name="Up in 30 days" value={percent(machine.uptime)} />
            <Row name="Country" value={machine.location.country ?? "–"} />
            <Row name="Seen" value={machine.last_seen === null ? "–" : <Time at={machine.last_seen} />} />
          </dl>
        </li>
      ))}
    </ul>
  );
}

function Row({ name, value }: { name: string; value: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
