/** Terms as they are typed: read into what the pool takes, or the field that cannot be read. Pure. */
import { dayOf, parseDay, type Terms } from "../../chain";
import { formatAmount, formatDuration, parseAmount, parseDuration } from "../../format";

/** What stands in the fields. An empty spot price sells no spot leases, an empty trial gives none. */
export interface TermsDraft {
  readonly price: string;
  readonly spotPrice: string;
  readonly minDuration: string;
  readonly maxDuration: string;
  readonly trial: string;
  readonly until: string;
}

export function draftOf(terms: Terms, decimals: number): TermsDraft {
  return {
    price: formatAmount(terms.price, decimals),
    spotPrice: terms.spotPrice ? formatAmount(terms.spotPrice, decimals) : "",
    minDuration: formatDuration(terms.minDuration),
    maxDuration: formatDuration(terms.maxDuration),
    trial: terms.trial ? formatDuration(terms.trial) : "",
    until: dayOf(terms.availableUntilDay),
  };
}

/** The terms, or which fields say nothing that can be read. */
export function readDraft(draft: TermsDraft, decimals: number): Terms | readonly (keyof TermsDraft)[] {
  const read = {
    price: parseAmount(draft.price, decimals),
    spotPrice: draft.spotPrice.trim() === "" ? 0n : parseAmount(draft.spotPrice, decimals),
    minDuration: parseDuration(draft.minDuration),
    maxDuration: parseDuration(draft.maxDuration),
    trial: draft.trial.trim() === "" ? 0 : parseDuration(draft.trial),
    until: parseDay(draft.until),
  };
  const { price, spotPrice, minDuration, maxDuration, trial, until } = read;
  if (
    price === undefined ||
    spotPrice === undefined ||
    minDuration === undefined ||
    maxDuration === undefined ||
    trial === undefined ||
    until === undefined
  ) {
    return (Object.keys(read) as (keyof TermsDraft)[]).filter((name) => read[name] === undefined);
  }
  return { price, spotPrice, minDuration, maxDuration, trial, availableUntilDay: until };
}

export function isRead(read: ReturnType<typeof readDraft>): read is Terms {
  return !Array.isArray(read);
}
