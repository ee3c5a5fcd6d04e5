/** Leases of a provider's machines, as far as his pages read them. */
import { gateway } from "../../api/gateway";
import type { Address, Amount, Part } from "../../api/types";

export interface LeaseOfProvider {
  readonly id: string;
  readonly machine: number;
  readonly tenant: Address;
  readonly state: string;
  readonly cells: number;
  readonly start: number;
  readonly end: number;
  readonly paid: Amount;
}

interface Query {
  readonly provider: string;
  readonly state?: string;
  readonly limit: number;
}

/** The newest of them, a page of what the gateway gives at once. */
export async function fetchLeases(query: Query, signal?: AbortSignal): Promise<readonly LeaseOfProvider[]> {
  return (await gateway.get<Part<LeaseOfProvider>>("leases", { ...query }, signal)).items;
}

const PAGE = 200;
const PAGES = 5;

/** Those that ran in the span that begins at `since`, up to 1,000; `all` says whether that was all of them. */
export async function fetchLeasesSince(provider: string, since: number, signal?: AbortSignal) {
  const found: LeaseOfProvider[] = [];
  let after: string | null = "";
  for (let page = 0; page < PAGES && after !== null; page += 1) {
    const part: Part<LeaseOfProvider> = await gateway.get("leases", { provider, limit: PAGE, after }, signal);
    found.push(...part.items);
    after = part.items.some(({ end }) => end > since) ? part.next : null;
  }
  return { leases: found, all: after === null };
}
