const LENGTHS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
] as const;

const SPANS = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

/* Made once, and not before a time is shown: one takes longer to make than all else of a row, and the first of all longest. */
const relative: Partial<Record<"always" | "auto", Intl.RelativeTimeFormat>> = {};
let absolute: Intl.DateTimeFormat | undefined;

/** The shortest exact form of seconds, such as `1h30m`. */
export function formatDuration(seconds: number): string {
  let rest = Math.max(0, Math.floor(seconds));
  const parts: string[] = [];
  for (const [unit, length] of LENGTHS) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count) parts.push(`${count}${unit}`);
  }
  return parts.join("") || "0s";
}

/** Seconds from `1h30m`, `90m`, `2h`; `undefined` for anything else. */
export function parseDuration(text: string): number | undefined {
  const written = text.trim().toLowerCase();
  if (!/^(\d+[dhms])+$/.test(written)) return undefined;
  const lengths = new Map<string, number>(LENGTHS);
  let seconds = 0;
  for (const [, count, unit] of written.matchAll(/(\d+)([dhms])/g)) {
    seconds += Number(count) * (lengths.get(unit ?? "") ?? 0);
  }
  return seconds;
}

/** `3 minutes ago`, `in 2 hours`, `now`. Both in unix seconds. A year from now is in 1 year, and not next year. */
export function formatRelative(time: number, now: number): string {
  const span = time - now;
  const size = Math.abs(span);
  const [unit, length] = SPANS.find(([, length]) => size >= length) ?? (["second", 1] as const);
  const numeric = ["year", "month", "week"].includes(unit) ? "always" : "auto";
  relative[numeric] ??= new Intl.RelativeTimeFormat("en", { numeric });
  return relative[numeric].format(Math.trunc(span / length), unit);
}

/** Date and time in the reader's zone, with the zone's name. */
export function formatAbsolute(time: number): string {
  absolute ??= new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeStyle: "long" });
  return absolute.format(time * 1000);
}
