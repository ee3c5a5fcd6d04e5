/**
 * Groups and Safes: several signers who are one account. From the ground up: group, place, calls, proposal, invitation,
 * access, known, gathering, standing, deeds, proposing, asking.
 */
export { type Access, accessOf, accessRows, accessSentence, LEASE_OPS, signAccess } from "./access";
export { type AskedAccess, askedAccess, askForAccess, keepAccess, openedAccess } from "./asking";
export { type Call, type DecodedCall, decodeCall, type Row, rows, sentence } from "./calls";
export { executeDeed, leaveOf, payInDeed, refusalNow, wordsOf } from "./deeds";
export {
  askGroup,
  askProposal,
  asksAccess,
  bringSignature,
  type Gathered,
  type GatheredAny,
  groupsOf,
  openProposals,
} from "./gathering";
export { encodeGroup, type Group, MAX_SIGNERS, makeGroup, readSafe } from "./group";
export { accountIn, checked, groupInLink, linkOf, routeOf } from "./invitation";
export { type KnownGroup, keepGroup, knownGroups } from "./known";
export { type Place, placeOf, readPlace } from "./place";
export * from "./proposal";
export { closeCall, draw, extendCall, LIFETIME, type ProposingHands, propose, withdrawCall } from "./proposing";
export { nextNonce, type ProposalStanding, standingOf } from "./standing";
