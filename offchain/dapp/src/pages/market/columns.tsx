import { Link } from "react-router";
import type { MachineItem } from "../../api/machines";
import type { Token } from "../../api/types";
import { formatFree, formatShare } from "../../format";
import type { Column } from "../../ui/DataTable";
import { Money } from "../../ui/Money";
import { State } from "../../ui/State";
import { Time } from "../../ui/Time";
import { CompareBox } from "./CompareBox";
import type { MarketUrl } from "./useMarketUrl";
import { memoryOf, nameOf, percent, starsOf, stateOf, unitOf } from "./words";
import "./market.css";

/** The market's columns: first what one compares by, then how well it has done, then what it has. */
export function machineColumns(
  token: Token | undefined,
  url: MarketUrl,
): readonly [Column<MachineItem>, ...Column<MachineItem>[]] {
  return [
    {
      name: "Machine",
      sort: "gpu",
      cell: (machine) => (
        <span className="machine-name">
          <CompareBox machine={machine} url={url} />
          <Link to={`/machines/${machine.id}`}>{nameOf(machine)}</Link>
          <span className="soft">{machine.id}</span>
        </span>
      ),
    },
    {
      name: "Per GPU-hour",
      sort: "price",
      numeric: true,
      cell: ({ kind, price }) => (
        <Money amount={price} token={token} {...(kind === "cpu" ? { per: unitOf(kind) } : {})} />
      ),
    },
    { name: "State", sort: "state", cell: (machine) => <MachineState machine={machine} /> },
    {
      name: "Free",
      sort: "cells",
      numeric: true,
      cell: (machine) => `${formatFree(machine.free_cells)} of ${machine.gpus}`,
    },
    { name: "From", sort: "smallest", numeric: true, cell: (machine) => formatShare(machine.smallest) },
    { name: "Memory", sort: "mem", numeric: true, cell: memoryOf },
    { name: "Score", sort: "-score", numeric: true, cell: (machine) => machine.score ?? "–" },
    { name: "Stars", sort: "-stars", numeric: true, cell: starsOf },
    { name: "Up", sort: "-uptime", numeric: true, cell: (machine) => percent(machine.uptime) },
    {
      name: "Seen",
      cell: (machine) => (machine.last_seen === null ? "–" : <Time at={machine.last_seen} past />),
    },
    { name: "Country", sort: "country", cell: (machine) => machine.location.country ?? "–" },
    { name: "Images at hand", cell: (machine) => <Images names={machine.images_cached} /> },
  ];
}

/** A machine's state, and whether a committee has measured it. */
export function MachineState({ machine }: { machine: MachineItem }) {
  const { is, word } = stateOf(machine);
  return (
    <span className="machine-state">
      <State is={is}>{word}</State>
      <span className="soft">{machine.verified ? "verified" : "unverified"}</span>
    </span>
  );
}

/** An image without its registry and digest: those stand in the tooltip. */
function bare(image: string): string {
  return image.split("@")[0]?.split("/").at(-1) ?? image;
}

function Images({ names }: { names: readonly string[] }) {
  const [first, ...more] = names;
  if (first === undefined) return <span className="soft">none</span>;
  return (
    <span title={names.join("\n")}>
      <span className="image-names">{bare(first)}</span>
      {more.length > 0 && <span className="soft"> +{more.length}</span>}
    </span>
  );
}
