import { type ReactNode, useId } from "react";
import { type Fact, Facts } from "./Facts";

interface Props {
  /** What can be done here, as a sentence or name. */
  readonly title: string;
  /** What it does, in the words under which the transaction is shown: the wallet's window then says nothing new. */
  readonly words: ReactNode;
  /** What it costs, what is at stake and what comes back when. */
  readonly facts?: readonly Fact[];
  /** How many windows the wallet will open, in words. */
  readonly asks: string;
  /** The one button that goes on to the wallet, and what went of it. */
  readonly children: ReactNode;
}

/** All that there is to know of a transaction that rents nothing, before the wallet opens. */
export function DeedPanel({ title, words, facts = [], asks, children }: Props) {
  const heading = useId();
  return (
    <section className="panel rows" aria-labelledby={heading}>
      <h2 id={heading}>{title}</h2>
      <p>{words}</p>
      <Facts facts={[...facts, ["Your wallet asks for", asks]]} />
      {children}
    </section>
  );
}
