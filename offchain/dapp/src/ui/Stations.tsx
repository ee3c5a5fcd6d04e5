import type { ReactNode } from "react";
import { Time } from "./Time";
import "./stations.css";

/** The stations of a lease, in their order. */
export const STATIONS = ["opened", "preparing", "ready", "running", "ended", "kept"] as const;
export type Station = (typeof STATIONS)[number];

interface Props {
  /** Where the lease is. */
  readonly at: Station;
  /** Since when, unix seconds. */
  readonly since: number;
  /** Of 100, while it is preparing. */
  readonly percent?: number | undefined;
  /** Until when what it left is kept, once it has ended. */
  readonly keptUntil?: number | undefined;
  /** What happens now, as a sentence. */
  readonly now: string;
  /** What can be done: buttons. */
  readonly children?: ReactNode;
}

/** A lease as a line of stations, with the present one in words: what happens now, since when, what can be done. */
export function Stations({ at, since, percent, keptUntil, now, children }: Props) {
  const present = STATIONS.indexOf(at);
  return (
    <section className="stations panel" aria-label="Where the lease is">
      <ol>
        {STATIONS.map((station, place) => (
          <li
            key={station}
            className={place < present ? "past" : place > present ? "ahead" : "present"}
            aria-current={place === present ? "step" : undefined}
          >
            <span>
              {NAMES[station]}
              {station === "preparing" && place === present && percent !== undefined && ` ${percent} %`}
            </span>
          </li>
        ))}
      </ol>
      <div className="line apart">
        <p role="status">
          {now} <span className="soft">Since </span>
          <Time at={since} past />
          {keptUntil !== undefined && (
            <>
              <span className="soft">, kept until its end </span>
              <Time at={keptUntil} />
            </>
          )}
        </p>
        {children !== undefined && <div className="line">{children}</div>}
      </div>
    </section>
  );
}

const NAMES: Readonly<Record<Station, string>> = {
  opened: "Opened",
  preparing: "Preparing",
  ready: "Ready",
  running: "Running",
  ended: "Ended",
  kept: "Kept",
};
