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

const LAST = 253_402_300_799; // the year 9999

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

/** `3 minutes ago`, `in 2 hours`, `now`. Both in unix seconds. A year from now is in 1 year, and not next year.
 *
 * Written by hand: a page's first use of `Intl` takes a phone a tenth of a second, in which nothing else is done. */
export function formatRelative(time: number, now: number): string {
  const span = time - now;
  const [unit, length] = SPANS.find(([, length]) => Math.abs(span) >= length) ?? (["second", 1] as const);
  const count = Math.trunc(Math.abs(span) / length);
  if (count === 0) return "now";
  if (unit === "day" && count === 1) return span < 0 ? "yesterday" : "tomorrow";
  const words = `${count} ${unit}${count === 1 ? "" : "s"}`;
  return span < 0 ? `${words} ago` : `in ${words}`;
}

/** Whether it is a time that calendars have: strangers write others, at which a page would fail. */
export function isTime(seconds: number): boolean {
  return Math.abs(seconds) <= LAST;
}

/** Date and time in the reader's zone, with the zone's name. */
export function formatAbsolute(time: number): string {
  if (!isTime(time)) return time > LAST ? "after the year 9999" : "at no time";
  absolute ??= new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeStyle: "long" });
  return absolute.format(time * 1000);
}
