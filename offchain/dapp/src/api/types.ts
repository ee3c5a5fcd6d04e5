/** What the gateway says. Amounts are decimal texts of the token's base units, times unix seconds, durations seconds,
 * shares cells (eighths of a GPU), addresses EIP-55. */
export type Amount = string;
export type Address = `0x${string}`;

/** The block that an answer speaks of. */
export interface Block {
  number: number;
  hash: string;
  time: number;
}

export interface Token {
  address: Address;
  symbol: string;
  decimals: number;
}

/** `next` is where the following part begins, `null` at the end. */
export interface Part<Item> {
  items: Item[];
  total: number;
  next: string | null;
  block: Block;
}
