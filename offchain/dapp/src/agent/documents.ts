/** What the agent's API answers, as far as these pages read it: `market/wire/_documents.py` is the whole of it. */
export type Phase =
  | "pulling"
  | "fetching"
  | "starting"
  | "ready"
  | "running"
  | "stopped"
  | "finished"
  | "stopping"
  | "ended"
  | "declined";

/** A port of the container's, and which of the host's leads there. */
export interface OpenPort {
  readonly container: number;
  readonly host: number;
  readonly protocol: string;
}

/** Until when what a lease has left is there, unix seconds. */
export interface Kept {
  readonly until: number;
  readonly paid_until: number;
  readonly read_seconds: number;
}

export interface LeaseStatus {
  readonly lease: string;
  readonly phase: Phase;
  readonly reason: string | null;
  readonly progress: string | null;
  readonly ports: readonly OpenPort[];
  readonly host: string | null;
  /** Of a command that has ended by itself, and is not started again. */
  readonly exit_code: number | null;
  /** The agent has the tenant's order to close the lease then. */
  readonly closes_when_done?: boolean;
  readonly kept: Kept | null;
  readonly result_cid: string | null;
}

/** What a lease had used by unix second `at`; null is what the host does not know. */
export interface LeaseReading {
  readonly at: number;
  readonly cpu_seconds: number | null;
  readonly memory: number | null;
  readonly processes: number | null;
  readonly received: number | null;
  readonly sent: number | null;
  readonly card_memory: number | null;
  readonly card_busy: number | null;
}

export interface LeaseMetrics {
  readonly readings: readonly LeaseReading[];
}

export interface SignedReceipt {
  readonly receipt: {
    readonly chain: number;
    readonly controller: `0x${string}`;
    readonly machine: number;
    readonly digest: `0x${string}`;
    readonly expiresAt: number;
  };
  readonly signature: `0x${string}`;
}
