import type { ProviderWhole } from "../../api/providers";

const DAY = 86_400;

/** Every day of the span up to now, those too that brought nothing. now: unix seconds. */
export function byDay(earnings: ProviderWhole["earnings"], days: number, now: number): ProviderWhole["earnings"] {
  const brought = new Map(earnings.map(({ day, amount }) => [day, amount]));
  const today = now - (now % DAY);
  return Array.from({ length: days }, (_, place) => {
    const day = today - (days - 1 - place) * DAY;
    return { day, amount: brought.get(day) ?? "0" };
  });
}
