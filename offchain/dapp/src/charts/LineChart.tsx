import { type PointerEvent, useState } from "react";
import { formatAbsolute } from "../format";
import { ChartTable } from "./ChartTable";
import { pathOf, placed, type Series, ticksOf, timesOf, valuesOf } from "./scale";
import { useWidth } from "./useWidth";
import "./charts.css";

interface Props {
  /** What is drawn, with its unit. */
  readonly title: string;
  readonly series: readonly Series[];
  /** How a value is written. */
  readonly format?: (value: number) => string;
  readonly height?: number;
}

const LEFT = 56;
const RIGHT = 12;
const TOP = 12;
const BOTTOM = 24;

/** Lines over time. The values at a moment are read by the pointer or by the arrow keys, and all of them in a table. */
export function LineChart({ title, series, format = plain, height = 240 }: Props) {
  const [frame, width] = useWidth();
  const [place, setPlace] = useState<number>();
  const times = timesOf(series);
  const values = valuesOf(series);
  const x = (at: number): number => placed(at, times, LEFT, width - LEFT - RIGHT);
  const y = (value: number): number => placed(value, values, height - BOTTOM, TOP + BOTTOM - height);
  const moments = (series[0]?.points ?? []).map((point) => point.at);
  const at = place === undefined ? undefined : moments[place];
  const move = (by: number): void =>
    setPlace(Math.max(0, Math.min(moments.length - 1, (place ?? moments.length - 1) + by)));
  const point = (event: PointerEvent<HTMLDivElement>): void => {
    const left = event.clientX - event.currentTarget.getBoundingClientRect().left;
    setPlace(nearest(moments, (moment) => Math.abs(x(moment) - left)));
  };
  return (
    <figure className="chart" ref={frame}>
      <figcaption className="line apart small">
        <span>{title}</span>
        <Legend series={series} />
      </figcaption>
      <div
        className="chart-frame"
        role="slider"
        tabIndex={0}
        aria-label={title}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, moments.length - 1)}
        aria-valuenow={place ?? moments.length - 1}
        aria-valuetext={says(series, place ?? moments.length - 1, format)}
        onPointerMove={point}
        onPointerLeave={() => setPlace(undefined)}
        onBlur={() => setPlace(undefined)}
        onKeyDown={(event) => {
          const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
          if (by === undefined) return;
          event.preventDefault();
          move(by);
        }}
      >
        <svg width={width} height={height} aria-hidden="true">
          {ticksOf(values).map((tick) => (
            <g key={tick} className="chart-tick">
              <line x1={LEFT} x2={width - RIGHT} y1={y(tick)} y2={y(tick)} />
              <text x={LEFT - 8} y={y(tick) + 4} textAnchor="end">
                {format(tick)}
              </text>
            </g>
          ))}
          {[...new Set([times.from, times.to])].map((moment, end, ends) => (
            <text
              key={moment}
              className="chart-time"
              x={x(moment)}
              y={height - 6}
              textAnchor={ends.length === 1 ? "middle" : end ? "end" : "start"}
            >
              {shortTime(moment, times.to - times.from)}
            </text>
          ))}
          {series.map((line, number) => (
            <path key={line.name} className={`chart-line line-${number + 1}`} d={pathOf(line.points, x, y)} />
          ))}
          {moments.length === 1 &&
            series.map((line, number) => <Alone key={line.name} line={line} number={number} x={x} y={y} />)}
          {at !== undefined && <line className="chart-cursor" x1={x(at)} x2={x(at)} y1={TOP} y2={height - BOTTOM} />}
        </svg>
      </div>
      <p className="chart-says small numbers">{place === undefined ? "" : says(series, place, format)}</p>
      <ChartTable title={title} series={series} format={format} />
    </figure>
  );
}

interface AloneProps {
  readonly line: Series;
  readonly number: number;
  readonly x: (at: number) => number;
  readonly y: (value: number) => number;
}

/** A line's only point, which would draw nothing as a line. */
function Alone({ line, number, x, y }: AloneProps) {
  const point = line.points[0];
  if (point === undefined || point.value === null) return null;
  return <circle className={`chart-line line-${number + 1}`} cx={x(point.at)} cy={y(point.value)} r="4" />;
}

function Legend({ series }: { series: readonly Series[] }) {
  if (series.length < 2) return null;
  return (
    <span className="line">
      {series.map((line, number) => (
        <span key={line.name} className="chart-key">
          <svg width="20" height="8" aria-hidden="true">
            <line className={`chart-line line-${number + 1}`} x1="0" x2="20" y1="4" y2="4" />
          </svg>
          {line.name}
        </span>
      ))}
    </span>
  );
}

/** The moment and every line's value at it, as a sentence. */
function says(series: readonly Series[], place: number, format: (value: number) => string): string {
  const at = series[0]?.points[place]?.at;
  if (at === undefined) return "No values";
  const values = series.map(({ name, points }) => {
    const value = points[place]?.value;
    return `${name} ${value === null || value === undefined ? "unknown" : format(value)}`;
  });
  return `${formatAbsolute(at)}: ${values.join(", ")}`;
}

function nearest(moments: readonly number[], distance: (moment: number) => number): number | undefined {
  if (moments.length === 0) return undefined;
  return moments.reduce(
    (best, moment, place) => (distance(moment) < distance(moments[best] ?? moment) ? place : best),
    0,
  );
}

function plain(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 4 });
}

function shortTime(moment: number, span: number): string {
  const style = span > 2 * 86_400 ? { month: "short", day: "numeric" } : { hour: "2-digit", minute: "2-digit" };
  return new Intl.DateTimeFormat(undefined, style as Intl.DateTimeFormatOptions).format(moment * 1000);
}
