/** What a provider does with a wallet: terms, claims, stake, appeals. From the ground up: providing. */
export {
  addStake,
  appeal,
  appealObstacle,
  type ClaimableLease,
  changeListing,
  claim,
  claimableOf,
  retire,
  type ShownTerms,
  setTerms,
  takeStake,
  unstakeObstacle,
} from "./providing";
