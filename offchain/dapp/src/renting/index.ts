/** Renting from a browser: what a machine offers, the lease opened, the lease extended. */
export {
  type Courier,
  challenge,
  extend,
  leave,
  type Offer,
  offerOf,
  type PayingHands,
  type Permit,
  prepareTogether,
  type RentingHands,
  rent,
  resize,
} from "./renting";
