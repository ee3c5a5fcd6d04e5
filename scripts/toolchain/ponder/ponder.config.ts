import { createConfig } from "ponder";

import { abi } from "./abi";

export default createConfig({
  database: { kind: "postgres", connectionString: process.env.DATABASE_URL },
  chains: { anvil: { id: 31337, rpc: process.env.RPC_URL, disableCache: true } },
  contracts: {
    Controller: {
      chain: "anvil",
      abi,
      address: process.env.CONTROLLER as `0x${string}`,
      startBlock: 1,
    },
  },
});
