import { exact, formatRounded, type Money as Token } from "../format";

interface Props {
  /** Base units, as the gateway or the chain has them. */
  readonly amount: string | bigint;
  readonly token: Token | undefined;
  /** What it is for, such as `GPU-hour`. */
  readonly per?: string;
  /** Decimals in a row; `exact` beside a button that costs. */
  readonly places?: number | "exact";
}

/** An amount with its unit: rounded in a row, to the last unit on hover. */
export function Money({ amount, token, per, places = 4 }: Props) {
  if (token === undefined) return <span className="numbers">…</span>;
  const units = BigInt(amount);
  const shown = formatRounded(units, token.decimals, places === "exact" ? token.decimals : places);
  return (
    <data className="numbers nowrap" value={units.toString()} title={exact(units, token)}>
      {shown} <span className="soft small">{per === undefined ? token.symbol : `${token.symbol} / ${per}`}</span>
    </data>
  );
}
