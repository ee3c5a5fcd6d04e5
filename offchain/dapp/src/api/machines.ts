import type { Address, Amount } from "./types";

/** A machine in a list. `null`: nobody knows, as of a host whose documents cannot be fetched. */
export interface MachineItem extends Terms {
  id: number;
  provider: Address;
  operator: Address;
  kind: "gpu" | "cpu" | null;
  gpu: string | null;
  cpu: string | null;
  class: string | null;
  gpus: number;
  free: number;
  cells: number;
  free_cells: number;
  /** Cells of the least share that it leases. */
  smallest: number;
  /** Bytes of each GPU. */
  mem: number | null;
  state: "free" | "busy" | "closed" | "retired";
  verified: boolean;
  down_since: number | null;
  revision: number;
  params: number;
  stake: Amount;
  location: { country: string | null };
  isolation: string[];
  last_seen: number | null;
  images_cached: string[];
  hardware: Hardware | null;
  hardware_cid: string;
  contact_cid: string;
  /** Why its documents lack, where they do. */
  missing: string | null;
  /** 0 to 1000. */
  score: number | null;
  /** Mean of its tenants' ratings by what they paid, `"4.8"`; `null` where nobody has rated it. */
  stars: string | null;
  ratings: number | null;
  /** Of 100 parts of the last 30 days, those in which it was not down. */
  uptime: string | null;
  /** Of 100 leases, how many were started. */
  started: string | null;
}

/** Prices per GPU-hour; durations in seconds. */
export interface Terms {
  price: Amount;
  spot_price: Amount | null;
  min: number;
  max: number;
  trial: number;
  available_until: number;
}

/** hardware.json, as far as pages show it; docs/reference/hardware.md says what each means. */
export interface Hardware {
  gpus?: { model: string; memory_bytes: number; pcie?: { generation: number; lanes: number } | null }[];
  cpu: { model: string; cores: number };
  memory_bytes: number;
  disk: { bytes: number; quota?: boolean };
  isolation?: string[];
  fault_domain?: string | null;
  driver?: string | null;
  cuda?: string | null;
  runtimes?: string[];
  kernel?: string | null;
  architecture?: string | null;
}

/** A machine with what it has done. */
export interface MachineWhole extends MachineItem {
  leases: {
    started: number;
    declined: number;
    unstarted: number;
    terminated: number;
    outages: number;
    downtime: number;
  };
  terms_history: { revision: number; block: number; time: number | null; price: Amount; spot_price: Amount }[];
  faults: Fault[];
  rated: Rating[];
}

export interface Fault {
  fault: number;
  machine: number;
  kind: string;
  state: string;
  from: number;
  to: number | null;
  filed_at: number | null;
  deadline: number | null;
  amount: Amount;
  to_tenants: Amount;
  compensated: Amount;
}

export interface Rating {
  lease: string;
  tenant: Address;
  stars: number;
  fee: Amount;
  at: number;
  comment_cid: string | null;
}

/** What a share costs and what comes back when. `back` is a sentence. */
export interface Quote {
  machine: number;
  revision: number;
  cells: number;
  seconds: number;
  spot: boolean;
  price: Amount;
  hourly: Amount;
  escrow: Amount;
  fee_bps: number;
  fee_at_most: Amount;
  hold_fee_per_hour: Amount;
  hold_fee_at_most: Amount;
  penalty_at_most: Amount;
  trial: number;
  start_window: number;
  notice: number;
  refunds: { when: string; back: string }[];
  /** Why the pool would refuse that lease now. */
  problem: { code: string; detail: string } | null;
}
