/**
 * The chain, as a renter's browser reads it and asks it.
 *
 * From the ground up: problem, money, leases, placing, types, quote, words, failures, token, pool, reads, deeds, transactions.
 */
export * from "./deeds";
export { problemOf, refusal } from "./failures";
export { formatLease, parseLease, cellsOf } from "./leases";
export { sharesOf } from "./placing";
export * from "./pool";

export * from "./quote";
export * from "./reads";
export { depositWithPermit, permitOf, PERMIT_SECONDS, tokenAbi } from "./token";
export { send, standing, type Sender, type Stage } from "./transactions";
export * from "./types";
