/**
 * The chain, as a renter's browser reads it and asks it.
 *
 * From the ground up: leases, placing, types, quote, earning, terms, words, failures, token, pool, logs, reads, ownReads, deeds,
 * ownDeeds, tenancy, missing, inclusion, transactions.
 */
export { approval, approveDeed, closeDeed, type Deed, extendDeed, openDeed, withdrawDeed } from "./deeds";
export { claimable, net, unstakableAt } from "./earning";
export { problemOf, refusal } from "./failures";
export { cellsOf, formatLease, parseLease } from "./leases";
export { poolLogs } from "./logs";
export {
  appealDeed,
  claimDeed,
  depositDeed,
  listingDeed,
  retireDeed,
  stakeDeed,
  termsDeed,
  unstakeDeed,
} from "./ownDeeds";
export { readFault, readOwnMachine, readProviderRules, readRulesToCome } from "./ownReads";
export { sharesOf } from "./placing";
export {
  type ClaimedPool,
  type Companions,
  checkRemembered,
  type Memory,
  type PoolContracts,
  PoolSwapped,
  readCompanions,
  readPool,
  rememberedPool,
  rememberInstead,
  tokenInCode,
} from "./pool";
export { type Bill, bill, cost, extensionCost, obstacle, type Quote, quote, refunds, type Wish } from "./quote";
export {
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
export { changesOf, dayOf, parseDay, type TermsChange, termsObstacle, written as writtenTerms } from "./terms";
export { depositWithPermit, PERMIT_SECONDS, permitOf, tokenAbi } from "./token";
export { type Fate, fateOf, type GaslessStage, type Sender, type Stage, send, undone } from "./transactions";
export * from "./types";
