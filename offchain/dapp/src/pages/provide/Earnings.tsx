import type { ProviderWhole } from "../../api/providers";
import type { Token } from "../../api/types";
import { LineChart } from "../../charts/LineChart";
import { plotted } from "../../format";
import { Money } from "../../ui/Money";
import { useNow } from "../../ui/useNow";
import { byDay } from "./byDay";

interface Props {
  readonly earnings: ProviderWhole["earnings"];
  readonly days: number;
  readonly token: Token | undefined;
}

/** What each day brought, and all of them together. */
export default function Earnings({ earnings, days, token }: Props) {
  const now = useNow();
  if (token === undefined) return null;
  const all = earnings.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  const points = byDay(earnings, days, now).map(({ day, amount }) => ({
    at: day,
    value: plotted(amount, token.decimals),
  }));
  return (
    <div className="rows">
      <p className="numbers">
        <Money amount={all} token={token} places={2} /> in {days} days
      </p>
      <LineChart title={`${token.symbol} a day`} series={[{ name: "Earned", points }]} />
    </div>
  );
}
