import { Link } from "react-router";
import { shortAddress } from "../format";
import { Copy } from "./Copy";
import "./small.css";

interface Props {
  readonly address: string;
  /** What it is called, where it has a name. */
  readonly name?: string;
  /** The page about it. */
  readonly to?: string;
}

/** An account or contract: by its name, else `0x71C7…976F`, whole on hover and by copying. */
export function Address({ address, name, to }: Props) {
  const shown = name ?? shortAddress(address);
  const says = <span className={name === undefined ? "mono" : undefined}>{shown}</span>;
  return (
    <span className="address" title={address}>
      {to === undefined ? says : <Link to={to}>{says}</Link>}
      <Copy text={address} what={`${name ?? "address"} ${address}`} />
    </span>
  );
}
