import { formatAbsolute } from "../format";
import type { Series } from "./scale";

interface Props {
  readonly title: string;
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

/** What a chart draws, as numbers. */
export function ChartTable({ title, series, format }: Props) {
  return (
    <details className="small">
      <summary>As a table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must scroll by keyboard, too */}
      <section className="chart-table" aria-label={title} tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Time</th>
              {series.map((line) => (
                <th key={line.name} scope="col" className="numeric">
                  {line.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {(series[0]?.points ?? []).map(({ at }, place) => (
              <tr key={at}>
                <th scope="row">{formatAbsolute(at)}</th>
                {series.map((line) => {
                  const value = line.points[place]?.value;
                  return (
                    <td key={line.name} className="numeric">
                      {value === null || value === undefined ? "–" : format(value)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
