/** Paying for gas in the pool's token: a gateway sends what the wallet signs, for a fee that is shown before. */
export { GASLESS_SECONDS, type GaslessHands, sendGasless } from "./gasless";
