/** How much of a provider's machines was leased: by day, of all their cells. Pure. */
import type { LeaseOfProvider } from "./leasesOf";

const DAY = 86_400;
const RAN = new Set(["active", "ended"]);

/** A day's first second in UTC, and of 100 parts of its cells' time those that were leased. */
export interface DayOfUse {
  readonly day: number;
  readonly percent: number;
}

/** Each day of the span up to now; of the present day what has passed of it. `cells`: that the machines have now. */
export function dailyUse(
  leases: readonly LeaseOfProvider[],
  cells: number,
  days: number,
  now: number,
): readonly DayOfUse[] {
  const today = now - (now % DAY);
  const ran = leases.filter(({ state }) => RAN.has(state));
  return Array.from({ length: days }, (_, place) => {
    const day = today - (days - 1 - place) * DAY;
    const to = Math.min(day + DAY, now);
    const used = ran.reduce((sum, lease) => sum + lease.cells * within(lease, day, to), 0);
    const whole = cells * (to - day);
    return { day, percent: whole > 0 ? Math.min(100, (100 * used) / whole) : 0 };
  });
}

/** Of 100 parts of the whole span. */
export function meanUse(use: readonly DayOfUse[]): number {
  return use.length === 0 ? 0 : use.reduce((sum, { percent }) => sum + percent, 0) / use.length;
}

function within({ start, end }: LeaseOfProvider, from: number, to: number): number {
  return Math.max(0, Math.min(end, to) - Math.max(start, from));
}
