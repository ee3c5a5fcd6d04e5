/**
 * The chain, as a renter's browser reads it and asks it.
 *
 * From the ground up: leases, placing, types, quote, words, failures, token, pool, reads, deeds, tenancy, transactions.
 */
export { approval, approveDeed, closeDeed, type Deed, depositDeed, extendDeed, openDeed, withdrawDeed } from "./deeds";
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
export {
  type Challenging,
  challengeDeed,
  type Delegation,
  delegateDeed,
  otherShares,
  proveDeed,
  type Resizing,
  rateDeed,
  readChallenging,
  readDelegation,
  readRated,
  resizeDeed,
  resizing,
} from "./tenancy";
export { depositWithPermit, PERMIT_SECONDS, permitOf, tokenAbi } from "./token";
export { type Sender, type Stage, send, standing } from "./transactions";
export * from "./types";
