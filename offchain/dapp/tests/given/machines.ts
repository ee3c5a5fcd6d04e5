import type { MachineItem, MachineWhole, Quote } from "../../src/api/machines";

/** A machine as the gateway has it, with what a test changes of it. */
export function machine(changed: Partial<MachineItem> = {}): MachineItem {
  return {
    id: 12,
    provider: "0x71C7656EC7ab88b098defB751B7401B5f6d8976F",
    operator: "0x0000000000000000000000000000000000000044",
    kind: "gpu",
    gpu: "NVIDIA H100 80GB HBM3",
    cpu: "AMD EPYC 9454",
    class: "h100-80g",
    gpus: 2,
    free: 1,
    cells: 16,
    free_cells: 12,
    smallest: 1,
    mem: 85_520_809_984,
    state: "free",
    verified: true,
    down_since: null,
    revision: 1,
    params: 1,
    stake: "100000000",
    price: "2052284",
    spot_price: null,
    min: 600,
    max: 2_592_000,
    trial: 300,
    available_until: 1_807_660_800,
    location: { country: "DE" },
    isolation: ["mig"],
    last_seen: 1_795_538_500,
    images_cached: ["pytorch/pytorch:2.6.0"],
    hardware: {
      gpus: [{ model: "NVIDIA H100 80GB HBM3", memory_bytes: 85_520_809_984 }],
      cpu: { model: "AMD EPYC 9454", cores: 48 },
      memory_bytes: 1_000_000_000_000,
      disk: { bytes: 4_000_000_000_000 },
    },
    hardware_cid: "bafkreihardware",
    contact_cid: "bafkreicontact",
    missing: null,
    score: 812,
    stars: "4.8",
    ratings: 12,
    uptime: "99.98",
    started: "100.0",
    ...changed,
  };
}

export function wholeMachine(changed: Partial<MachineWhole> = {}): MachineWhole {
  return {
    ...machine(),
    leases: { started: 9, declined: 1, unstarted: 0, terminated: 0, outages: 1, downtime: 360 },
    terms_history: [
      { revision: 1, block: 7, time: 1_795_452_161, price: "1900000", spot_price: "0" },
      { revision: 2, block: 9, time: 1_795_538_561, price: "2052284", spot_price: "0" },
    ],
    faults: [],
    rated: [
      {
        lease: "3",
        tenant: "0x0000000000000000000000000000000000000022",
        stars: 5,
        fee: "20000",
        at: 1_795_538_500,
        comment_cid: null,
      },
    ],
    ...changed,
  };
}

export const QUOTE: Quote = {
  machine: 12,
  revision: 1,
  cells: 1,
  seconds: 7_200,
  spot: false,
  price: "2052284",
  hourly: "256536",
  escrow: "513071",
  fee_bps: 200,
  fee_at_most: "10261",
  hold_fee_per_hour: "2565",
  hold_fee_at_most: "427",
  penalty_at_most: "42756",
  trial: 300,
  start_window: 600,
  notice: 600,
  refunds: [{ when: "not started within 10m, or declined", back: "all of it" }],
  problem: null,
};
