import { useState } from "react";
import type { MachineItem } from "../../api/machines";
import type { Machine } from "../../chain";
import { sharesOf } from "../../chain";
import { formatDuration, parseDuration } from "../../format";
import { shareIn } from "../market/words";

interface Props {
  readonly machine: Machine;
  /** What it sells, once that is known. */
  readonly kind: MachineItem["kind"] | undefined;
  readonly share: number;
  readonly seconds: number;
  readonly onChange: (change: { share?: number; seconds?: number }) => void;
}

const USUAL = [3_600, 2 * 3_600, 8 * 3_600, 86_400];

/** How much of the machine, and for how long. */
export function Shape({ machine, kind, share, seconds, onChange }: Props) {
  const [written, setWritten] = useState(formatDuration(seconds));
  const { minDuration, maxDuration } = machine.terms;
  const read = parseDuration(written);
  const choose = (text: string): void => {
    setWritten(text);
    const chosen = parseDuration(text);
    if (chosen) onChange({ seconds: chosen });
  };
  return (
    <section className="panel rows" aria-labelledby="shape">
      <h2 id="shape">How much, and for how long</h2>
      <fieldset className="line bare">
        <legend className="unseen">Share</legend>
        {sharesOf(machine).map((cells) => (
          <button
            key={cells}
            type="button"
            className="chip"
            aria-pressed={cells === share}
            onClick={() => onChange({ share: cells })}
          >
            {shareIn(cells, kind)}
          </button>
        ))}
      </fieldset>
      <div className="field">
        <label htmlFor="duration">Duration</label>
        <input
          id="duration"
          className="input"
          value={written}
          aria-invalid={read === undefined}
          aria-describedby="duration-range"
          onChange={(event) => choose(event.target.value)}
        />
        <p id="duration-range" className="small soft">
          Such as 90m or 1h30m. This machine is leased for {formatDuration(minDuration)} to{" "}
          {formatDuration(maxDuration)}.
        </p>
      </div>
      <fieldset className="line bare">
        <legend className="unseen">Usual durations</legend>
        {USUAL.filter((usual) => usual >= minDuration && usual <= maxDuration).map((usual) => (
          <button
            key={usual}
            type="button"
            className="chip"
            aria-pressed={usual === seconds}
            onClick={() => choose(formatDuration(usual))}
          >
            {formatDuration(usual)}
          </button>
        ))}
      </fieldset>
    </section>
  );
}
