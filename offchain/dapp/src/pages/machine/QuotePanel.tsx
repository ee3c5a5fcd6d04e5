import { useId, useState } from "react";
import { Link } from "react-router";
import type { MachineWhole, Quote } from "../../api/machines";
import { useQuote } from "../../api/queries";
import type { Token } from "../../api/types";
import { capitalised, formatDuration, formatShare, parseDuration } from "../../format";
import { Facts } from "../../ui/Facts";
import { Money } from "../../ui/Money";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { unitOf } from "../market/words";
import { SilentAgent, useAgentAnswers } from "./SilentAgent";

interface Props {
  readonly machine: MachineWhole;
  readonly token: Token | undefined;
}

/** What its page asks the price of before its reader has chosen. */
export function firstWish({ smallest, min }: MachineWhole) {
  return { cells: smallest, seconds: Math.max(7_200, min), spot: false };
}

/** What a share would cost, as long as one likes: exact, with what comes back when. */
export function QuotePanel({ machine, token }: Props) {
  const id = useId();
  const [cells, setCells] = useState(firstWish(machine).cells);
  const [typed, setTyped] = useState(formatDuration(firstWish(machine).seconds));
  const [spot, setSpot] = useState(false);
  const seconds = parseDuration(typed);
  const { answers } = useAgentAnswers(machine.id);
  const { data, error } = useQuote(machine.id, { cells, seconds: seconds ?? 0, spot });
  return (
    <section className="panel rows" aria-labelledby={`${id}-head`}>
      <h2 id={`${id}-head`}>What it would cost</h2>
      <div className="quote-wish">
        <div className="field">
          <label htmlFor={`${id}-share`}>Share</label>
          <select
            id={`${id}-share`}
            className="input"
            value={cells}
            onChange={(event) => setCells(Number(event.target.value))}
          >
            {sharesOf(machine).map((share) => (
              <option key={share} value={share}>
                {formatShare(share)} {unitOf(machine.kind)}
              </option>
            ))}
          </select>
        </div>
        <div className="field">
          <label htmlFor={`${id}-span`}>Duration</label>
          <input
            id={`${id}-span`}
            className="input"
            value={typed}
            aria-invalid={seconds === undefined}
            aria-describedby={`${id}-form`}
            onChange={(event) => setTyped(event.target.value)}
          />
        </div>
        <p id={`${id}-form`} className="quote-hint small soft">
          {seconds === undefined
            ? "Write a duration such as 90m, 2h or 1d12h."
            : `It is leased for ${formatDuration(machine.min)} to ${formatDuration(machine.max)}.`}
        </p>
        {machine.spot_price !== null && (
          <label className="quote-spot">
            <input type="checkbox" checked={spot} onChange={(event) => setSpot(event.target.checked)} />
            As spot: cheaper, ended with notice
          </label>
        )}
      </div>
      {error !== null ? (
        <ProblemView error={error} />
      ) : data === undefined ? (
        <Skeleton rows={5} />
      ) : (
        <Costs quote={data} token={token} />
      )}
      {data !== undefined && data.problem === null && seconds !== undefined && answers !== false && (
        <Link
          className="button primary"
          to={`/rent?${new URLSearchParams({ machine: String(machine.id), cells: String(cells), seconds: String(seconds), ...(spot ? { spot: "1" } : {}) })}`}
        >
          Rent for {formatDuration(seconds)}
        </Link>
      )}
      <SilentAgent machine={machine.id} />
    </section>
  );
}

function Costs({ quote, token }: { quote: Quote; token: Token | undefined }) {
  const money = (amount: string) => <Money amount={amount} token={token} places="exact" />;
  return (
    <>
      {quote.problem !== null && <p className="notice warning">Not now: {quote.problem.detail}</p>}
      <Facts
        facts={[
          ["Costs by the hour", money(quote.hourly)],
          ["Costs in all, and is locked in escrow", money(quote.escrow)],
          [
            "Pool's fee",
            <>
              {quote.fee_bps / 100} % of what the provider earns, at most {money(quote.fee_at_most)}; it is in the price
            </>,
          ],
        ]}
      />
      <h3>What comes back</h3>
      <Facts facts={quote.refunds.map(({ when, back }) => [capitalised(when), back] as const)} />
    </>
  );
}

/** Shares that the machine could lease: parts of a GPU from its least on, and whole ones. */
function sharesOf({ smallest, gpus }: MachineWhole): number[] {
  const whole = Array.from({ length: gpus }, (_, gpu) => 8 * (gpu + 1));
  return [1, 2, 4, ...whole].filter((share) => share >= smallest);
}
