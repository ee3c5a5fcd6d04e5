import { type ReactNode, useId } from "react";
import { Facts } from "./Facts";

interface Props {
  /** What is about to be done, as a sentence: “Rent half a GPU of machine 12 for 2 hours”. */
  readonly title: string;
  /** What you get. */
  readonly gets: ReactNode;
  /** What is locked meanwhile. */
  readonly locks: ReactNode;
  readonly perHour?: ReactNode;
  /** What it costs in all. */
  readonly inAll: ReactNode;
  /** What comes back, and when. */
  readonly comesBack: ReactNode;
  /** Who can read your data. */
  readonly readers: string;
  /** How many windows the wallet will open, in words. */
  readonly transactions: string;
  /** The one button that goes on to the wallet, and a way back. */
  readonly children: ReactNode;
}

/** All that there is to know before the wallet opens, so that its window says nothing new. */
export function BeforeWallet(props: Props) {
  const heading = useId();
  return (
    <section className="panel rows" aria-labelledby={heading}>
      <h2 id={heading}>{props.title}</h2>
      <Facts
        facts={[
          ["You get", props.gets],
          ["Locked in escrow", props.locks],
          props.perHour === undefined ? undefined : ["Costs by the hour", props.perHour],
          ["Costs in all", props.inAll],
          ["Comes back", props.comesBack],
          ["Who can read your data", props.readers],
          ["Your wallet asks for", props.transactions],
        ]}
      />
      <div className="line">{props.children}</div>
    </section>
  );
}
