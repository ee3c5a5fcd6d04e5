/** What a wallet's answers are read with. It brings what knows contracts and their errors, and comes with the first answer:
 * a page that nobody connects at is shown without. */
export { getAddress } from "viem";
export { problemOf } from "../chain";
