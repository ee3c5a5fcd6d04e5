/** A sum that is put aside for one lease, out of which a gateway extends it without holding a key. */
export {
  askOffer,
  type FoundPurse,
  findPurses,
  fundingDeed,
  type KeepingHands,
  type KeepingWish,
  keepLease,
  type PurseOffer,
  takeBack,
  wishOf,
} from "./keeping";
export { extensionOf, type Purse, type PurseSignatures, purseGroup, returnOf, signedPurse } from "./purse";
