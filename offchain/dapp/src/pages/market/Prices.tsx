import { useState } from "react";
import type { PricePoint, PriceSeries } from "../../api/pools";
import { usePool, usePrices } from "../../api/queries";
import { LineChart } from "../../charts/LineChart";
import { plotted } from "../../format";
import { Empty } from "../../ui/Empty";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";

const SPANS = [7, 30, 90] as const;

/** What GPUs of each class have been offered for. Loaded when it is asked for: most who come look for a machine. */
export default function Prices() {
  const [days, setDays] = useState<number>(30);
  const [chosen, setChosen] = useState<string>();
  const { data, error, refetch } = usePrices({ days });
  const shown = data?.find((prices) => prices.class === chosen) ?? data?.[0];
  return (
    <section className="panel rows" aria-label="Prices">
      <div className="line apart">
        <h2>What GPUs are offered for</h2>
        <div className="line">
          <select
            className="input"
            aria-label="Class"
            value={shown?.class ?? ""}
            onChange={(event) => setChosen(event.target.value)}
          >
            {(data ?? []).map((prices) => (
              <option key={prices.class}>{prices.class}</option>
            ))}
          </select>
          <select
            className="input"
            aria-label="Span"
            value={days}
            onChange={(event) => setDays(Number(event.target.value))}
          >
            {SPANS.map((span) => (
              <option key={span} value={span}>
                {span} days
              </option>
            ))}
          </select>
        </div>
      </div>
      {error !== null ? (
        <ProblemView error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton rows={6} />
      ) : shown === undefined ? (
        <Empty says="No price has been on offer in this span." />
      ) : (
        <PriceChart prices={shown} />
      )}
    </section>
  );
}

function PriceChart({ prices }: { prices: PriceSeries }) {
  const token = usePool().data?.token;
  if (token === undefined) return null;
  const along = (pick: (point: PricePoint) => string) =>
    prices.series.map((point) => ({ at: point.time, value: plotted(pick(point), token.decimals) }));
  return (
    <LineChart
      title={`${prices.class}: ${token.symbol} per GPU-hour`}
      series={[
        { name: "Most", points: along((point) => point.most) },
        { name: "Median", points: along((point) => point.median) },
        { name: "Least", points: along((point) => point.least) },
      ]}
    />
  );
}
