/**
 * Groups and Safes: several signers who are one account. From the ground up: group, place, calls, proposal, invitation,
 * known, gathering, standing, deeds, proposing.
 */
export { type Call, type DecodedCall, decodeCall, type Row, rows, sentence } from "./calls";
export { deployDeed, executeDeed, leaveOf, payInDeed, refusalNow, wordsOf } from "./deeds";
export { askGroup, askProposal, bringSignature, type Gathered, groupsOf, openProposals } from "./gathering";
export { encodeGroup, type Group, MAX_SIGNERS, makeGroup, readSafe } from "./group";
export { accountIn, checked, groupInLink, linkOf, routeOf } from "./invitation";
export { type KnownGroup, keepGroup, knownGroups } from "./known";
export { type Place, placeOf, readPlace } from "./place";
export * from "./proposal";
export { closeCall, draw, extendCall, LIFETIME, type ProposingHands, propose, withdrawCall } from "./proposing";
export { nextNonce, type ProposalStanding, standingOf } from "./standing";
