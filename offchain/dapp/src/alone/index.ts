/**
 * The pages without a gateway: what they ask it for, as far as the chain itself says it, by the reader's own node.
 *
 * From the ground up: reading, answers; ownNode. What takes an index (search, records, prices, rounds) is refused in words.
 */
export { answer } from "./answers";
export { chooseOwnNode, fetchFromOwnNode, leaveOnOwnNode, ownNode } from "./ownNode";
