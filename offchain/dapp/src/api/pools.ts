import type { Address, Amount, Token } from "./types";

/** A pool: its rules, contracts and powers. Amounts in `params` are whole tokens as texts, shares of 10,000 numbers. */
export interface PoolWhole {
  controller: Address;
  chain_id: number;
  genesis: string;
  deployed_at_block: number;
  token: Token;
  contracts: Record<string, Address>;
  /** Of each contract, the Keccak-256 of the code that is deployed there. */
  code_hashes: Record<string, string>;
  owner: Address;
  pending_owner: Address | null;
  treasury: Address;
  arbiter: Address | null;
  sink: Address | null;
  paused: boolean;
  gated: boolean;
  machines: number;
  seats: number;
  matured_seats: number;
  quorum: { seats: number; validators: number };
  params_version: number;
  params: Record<string, Param>;
  proposed: { version: number; in_force_at: number; changes: { name: string; before: Param; after: Param }[] } | null;
  powers: Power[];
}

export type Param = string | number | boolean | null;

/** Who can take at most what, how fast, and how one leaves first: sentences. */
export interface Power {
  who: string;
  address: Address | null;
  takes_at_most: string;
  when: string;
  leave_first: string;
}

/** What GPUs of a class were asked for over time, the oldest first. */
export interface PriceSeries {
  class: string;
  series: PricePoint[];
}

/** Prices per GPU-hour at a moment, and of how many machines. */
export interface PricePoint {
  time: number;
  least: Amount;
  median: Amount;
  most: Amount;
  machines: number;
}

export interface Seat {
  seat: number;
  validator: Address;
  stake: Amount;
  level: Amount;
  joined_at: number;
  leaves_at: number | null;
  exited: boolean;
}

export interface Round {
  round: number;
  machine: number;
  revision: number;
  requester: Address;
  state: string;
  requested_at: number;
  fee: Amount;
  seats: number[];
  commit_until: number | null;
  reveal_until: number | null;
  score: number | null;
  agreed: number | null;
}

/** What a seat said in a round, as far as it was shown. */
export interface Vote {
  seat: number;
  revealed: boolean;
  passed: boolean | null;
  score: number | null;
}
