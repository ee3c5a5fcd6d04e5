import { memo, type ReactNode } from "react";
import { Link } from "react-router";
import type { MachineItem } from "../../api/machines";
import type { Token } from "../../api/types";
import { formatFree } from "../../format";
import { Money } from "../../ui/Money";
import { Time } from "../../ui/Time";
import { useByAndBy } from "../../ui/useByAndBy";
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

const AT_ONCE = 3; // a phone's window shows two, and so few are made before a tap is felt to wait

/** Machines as cards that are compared at a glance: what, how much, whether now. */
export function MachineCards({ machines, token, url, changed }: Props) {
  const made = useByAndBy(machines.length, AT_ONCE);
  return (
    <ul className="cards machine-cards" aria-label="Machines" aria-busy={made < machines.length}>
      {machines.slice(0, made).map((machine) => (
        <MachineCard key={machine.id} machine={machine} token={token} url={url} changed={changed.has(machine.id)} />
      ))}
    </ul>
  );
}

interface CardProps extends Omit<Props, "machines" | "changed"> {
  readonly machine: MachineItem;
  readonly changed: boolean;
}

/** Made anew only where something of it is another. */
const MachineCard = memo(function MachineCard({ machine, token, url, changed }: CardProps) {
  return (
    <li className={changed ? "card changed" : "card"}>
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
        <Row name="Seen" value={machine.last_seen === null ? "–" : <Time at={machine.last_seen} past />} />
      </dl>
    </li>
  );
});

function Row({ name, value }: { name: string; value: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
