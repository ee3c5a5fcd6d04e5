/**
 * The chain, as a renter's browser reads it and asks it.
 *
 * From the ground up: leases, placing, types, quote, words, failures, token, pool, reads, deeds, transactions.
 */
export { approval, approveDeed, closeDeed, type Deed, extendDeed, openDeed, withdrawDeed } from "./deeds";
export { problemOf, refusal } from "./failures";
export { cellsOf, formatLease, parseLease } from "./leases";
export { sharesOf } from "./placing";
export { type ClaimedPool, checkRemembered, forgetPool, type Memory, readPool } from "./pool";
export { type Bill, bill, cost, extensionCost, obstacle, type Quote, quote, refunds, type Wish } from "./quote";
export {
  closingIn,
  openedIn,
  readContactDigest,
  readFunds,
  readHead,
  readLease,
  readLeaseEvents,
  readMachine,
  readParams,
  readParamsVersion,
} from "./reads";
export { depositWithPermit, PERMIT_SECONDS, permitOf, tokenAbi } from "./token";
export { type Sender, type Stage, send, standing } from "./transactions";
export * from "./types";
