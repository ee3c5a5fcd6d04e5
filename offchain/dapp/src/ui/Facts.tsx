import type { ReactNode } from "react";
import "./facts.css";

export type Fact = readonly [name: string, value: ReactNode] | undefined;

/** Names and values. What is `undefined` is left out: nobody knows it. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className="facts">
      {facts.map(
        (fact) =>
          fact !== undefined && (
            <div key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
