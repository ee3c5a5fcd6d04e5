/** What a provider asks: what a change of it comes to, and why the pool would refuse it. Pure; as `_earning.py` has it. */
import { exact, formatDuration, type Money } from "../format";
import { Problem } from "../problem";
import type { Terms } from "./types";

const DAY = 86_400;
const MOST_PRICE = 2n ** 80n - 1n;
const MOST_SPAN = 2 ** 24 - 1;
const MOST_TRIAL = 900;

/** One line of what changes, both sides as people write them. */
export interface TermsChange {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** What is different, in the order in which terms are read. Nothing that is sent differs and is not among it. */
export function changesOf(before: Terms, after: Terms, money: Money): readonly TermsChange[] {
  const rows = written(after, money);
  return written(before, money).flatMap(([name, was], place) => {
    const is = rows[place]?.[1] ?? "";
    return was === is ? [] : [{ name, before: was, after: is }];
  });
}

/** Terms as people read them. */
export function written(terms: Terms, money: Money): readonly (readonly [name: string, value: string])[] {
  return [
    ["price", `${exact(terms.price, money)} per GPU-hour`],
    ["spot price", terms.spotPrice ? `${exact(terms.spotPrice, money)} per GPU-hour` : "none: no spot leases"],
    ["shortest lease", formatDuration(terms.minDuration)],
    ["longest lease", formatDuration(terms.maxDuration)],
    ["trial", terms.trial ? formatDuration(terms.trial) : "none"],
    ["for rent until", `the end of ${dayOf(terms.availableUntilDay)} (UTC)`],
  ];
}

/** `2027-03-01` of a day counted from 1970-01-01. */
export function dayOf(day: number): string {
  return new Date(day * DAY * 1000).toISOString().slice(0, 10);
}

/** The day of `2027-03-01`, or `undefined` for what is no date. */
export function parseDay(text: string): number | undefined {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  const day = Math.floor(time / 1000 / DAY);
  return Number.isFinite(time) && day >= 0 && day < 2 ** 16 && dayOf(day) === text ? day : undefined;
}

/** Why the pool would refuse these terms, or why nobody could rent by them; `null` where neither is so. `now`: the chain's. */
export function termsObstacle(terms: Terms, now: number): Problem | null {
  const { price, spotPrice, minDuration, maxDuration, trial, availableUntilDay } = terms;
  const rows: readonly (readonly [boolean, string, string, string])[] = [
    [
      price <= 0n || price > MOST_PRICE,
      "price-not-positive",
      "A price is more than nothing.",
      "Write what a GPU-hour costs.",
    ],
    [
      spotPrice < 0n || spotPrice > MOST_PRICE,
      "invalid-spot-price",
      "That is no spot price.",
      "Leave it empty for none.",
    ],
    [
      minDuration <= 0 || maxDuration < minDuration || maxDuration > MOST_SPAN,
      "no-such-span",
      `Leases last from the shortest to the longest, at most ${formatDuration(MOST_SPAN)}.`,
      "Correct the durations.",
    ],
    [
      trial < 0 || trial > MOST_TRIAL,
      "trial-too-long",
      `A trial is ${formatDuration(MOST_TRIAL)} at most.`,
      "Make it shorter.",
    ],
    [
      (availableUntilDay + 1) * DAY <= now + minDuration,
      "leaves-too-early",
      "Nobody could rent: the machine leaves before the shortest lease would end.",
      "Choose a later day.",
    ],
  ];
  const found = rows.find(([holds]) => holds);
  return found ? new Problem(found[1], found[2], found[3]) : null;
}
