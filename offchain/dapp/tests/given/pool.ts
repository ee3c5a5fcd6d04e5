import type { PoolWhole } from "../../src/api/pools";
import type { Block } from "../../src/api/types";

export const BLOCK: Block = { number: 149, hash: "0x05", time: 1_795_538_561 };

export const POOL: PoolWhole = {
  controller: "0x3333333333333333333333333333333333333333",
  chain_id: 31_337,
  genesis: "0xab",
  deployed_at_block: 1,
  token: { address: "0x4444444444444444444444444444444444444444", symbol: "TUSD", decimals: 6 },
  contracts: { Controller: "0x3333333333333333333333333333333333333333" },
  code_hashes: { Controller: `0x${"11".repeat(32)}` },
  owner: "0x0000000000000000000000000000000000000033",
  pending_owner: null,
  treasury: "0x0000000000000000000000000000000000000033",
  arbiter: null,
  sink: null,
  paused: false,
  gated: false,
  machines: 2,
  seats: 0,
  matured_seats: 0,
  quorum: { seats: 1, validators: 5 },
  params_version: 1,
  params: { min_stake_per_gpu: "50", fee_bps: 250, start_window: 600, committee_size: 5, arbiter: null },
  proposed: null,
  powers: [
    {
      who: "owner",
      address: null,
      takes_at_most: "nothing; proposes parameters",
      when: "2d later",
      leave_first: "retire",
    },
  ],
};
