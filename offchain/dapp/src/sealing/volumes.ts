/** The keys of a tenant's volumes: made of one signature of the wallet each, so that nothing has to be kept. */
import { type Address, concat, type Hex, sha256, slice, toHex } from "viem";

import type { Pool } from "../chain";

/** What the wallet signs for the volume's key. It is never sent: whoever has a signature of it can read the volume. */
export function volumeKeyRequest(pool: Pool, account: Address, name: string) {
  return {
    domain: { name: "Leasehold", version: "1", chainId: pool.chainId, verifyingContract: pool.controller },
    types: {
      VolumeKey: [
        { name: "account", type: "address" },
        { name: "chain", type: "uint256" },
        { name: "controller", type: "address" },
        { name: "name", type: "string" },
      ],
    },
    primaryType: "VolumeKey",
    message: { account, chain: BigInt(pool.chainId), controller: pool.controller, name },
  } as const;
}

/** The key that the signature comes to, in hex. What v is depends on the wallet's conventions, and does not count. */
export function volumeKey(signature: Hex): string {
  return sha256(concat([toHex("leasehold volume key 1"), slice(signature, 0, 64)])).slice(2);
}
