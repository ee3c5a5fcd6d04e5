/** Renting from a browser: what a machine offers, the lease opened, the lease extended. */
export {
  challenge,
  extend,
  type Offer,
  offerOf,
  type PayingHands,
  type Permit,
  type RentingHands,
  rent,
  resize,
} from "./renting";
