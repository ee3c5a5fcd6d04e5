import { useQuery } from "@tanstack/react-query";
import { useLive } from "../../api/live";
import { formatLease, readHead, readLease, readLeaseEvents, readMachine, readParams } from "../../chain";
import { Problem } from "../../problem";
import type { Account } from "../../wallet";

const LOOK_EVERY = 2_000;

/** The lease, its rules and its machine, by the chain's word; looked at anew with every block. */
export function useLeaseOnChain({ chain, pool }: Pick<Account, "chain" | "pool">, id: bigint) {
  useLive([`lease:${formatLease(id)}`]);
  return useQuery({
    queryKey: ["lease", formatLease(id), "onchain", pool.controller],
    queryFn: async () => {
      const [lease, head] = await Promise.all([readLease(chain, pool, id), readHead(chain)]);
      if (lease.machine === 0) {
        throw new Problem("unknown-lease", `There is no lease ${formatLease(id)}.`, "Look at your leases.");
      }
      const [params, machine] = await Promise.all([
        readParams(chain, pool, lease.params),
        readMachine(chain, pool, lease.machine),
      ]);
      return { lease, params, machine, head };
    },
    refetchInterval: LOOK_EVERY,
  });
}

/** What has become of it, as the chain tells. */
export function useLeaseEvents({ chain, pool }: Pick<Account, "chain" | "pool">, id: bigint, state: number) {
  return useQuery({
    queryKey: ["lease", formatLease(id), "events", pool.controller, state],
    queryFn: () => readLeaseEvents(chain, pool, id),
  });
}

export type LeaseNow = NonNullable<ReturnType<typeof useLeaseOnChain>["data"]>;
