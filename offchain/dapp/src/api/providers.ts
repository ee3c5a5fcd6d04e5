import type { Fault } from "./machines";
import type { Address, Amount } from "./types";

/** A provider: machines, what answers for them, what they brought. `day` is a day's first second in UTC. */
export interface ProviderWhole {
  provider: Address;
  machines: number[];
  stake: Amount;
  balance: Amount;
  score: number | null;
  cells: number;
  leased_cells: number;
  claimable: Amount;
  earnings: { day: number; amount: Amount }[];
  faults: Fault[];
}
