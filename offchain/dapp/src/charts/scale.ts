/** A line of a chart: a value at each moment, in unix seconds, oldest first. `null` is a gap. */
export interface Series {
  readonly name: string;
  readonly points: readonly { readonly at: number; readonly value: number | null }[];
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** From the first moment of all series to the last. */
export function timesOf(series: readonly Series[]): Span {
  const times = series.flatMap(({ points }) => points.map((point) => point.at));
  return { from: Math.min(...times), to: Math.max(...times) };
}

/** From nought to a round number at or above the highest value. */
export function valuesOf(series: readonly Series[]): Span {
  const values = series.flatMap(({ points }) => points.map((point) => point.value ?? 0));
  const step = roundStep(Math.max(...values, 0));
  return { from: 0, to: step * Math.max(1, Math.ceil(Math.max(...values, 0) / step)) };
}

/** Round values at which an axis has lines: some four of them. */
export function ticksOf({ from, to }: Span): number[] {
  const step = roundStep(to - from);
  return Array.from({ length: Math.round((to - from) / step) + 1 }, (_, place) => from + place * step);
}

/** 1, 2 or 5 times a power of ten, of which some four make up the span. */
function roundStep(span: number): number {
  if (span <= 0) return 1;
  const raw = span / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10);
}

/** Where in pixels a value of a span lies, of `size` pixels that begin at `start`. */
export function placed(value: number, { from, to }: Span, start: number, size: number): number {
  return to === from ? start + size / 2 : start + ((value - from) / (to - from)) * size;
}

/** An SVG path along the points; a gap breaks the line. */
export function pathOf(points: Series["points"], x: (at: number) => number, y: (value: number) => number): string {
  let pen = "M";
  let path = "";
  for (const { at, value } of points) {
    if (value === null) {
      pen = "M";
      continue;
    }
    path += `${pen}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  }
  return path;
}
