import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useLive } from "../../api/live";
import {
  formatLease,
  type Head,
  type Lease,
  type Machine,
  type Params,
  readHead,
  readLease,
  readLeaseEvents,
  readMachine,
  readParams,
  undone,
} from "../../chain";
import { Problem } from "../../problem";
import type { Account } from "../../wallet";

const LOOK_EVERY = 2_000;

/** A lease with its rules and its machine at the head of the chain. `undone`: the newest block that was the chain's while
 * the page looked, and is no more. */
export interface LeaseNow {
  readonly lease: Lease;
  readonly params: Params;
  readonly machine: Machine;
  readonly head: Head;
  readonly undone: Head | null;
}

/** The lease, its rules and its machine, by the chain's word; looked at anew with every block. */
export function useLeaseOnChain({ chain, pool }: Pick<Account, "chain" | "pool">, id: bigint) {
  useLive([`lease:${formatLease(id)}`]);
  const queries = useQueryClient();
  const queryKey = ["lease", formatLease(id), "onchain", pool.controller];
  return useQuery({
    queryKey,
    queryFn: async (): Promise<LeaseNow> => {
      const before = queries.getQueryData<LeaseNow>(queryKey);
      const [lease, head, changed] = await Promise.all([
        readLease(chain, pool, id),
        readHead(chain),
        before ? undone(chain, before.head) : false,
      ]);
      if (lease.machine === 0) {
        throw new Problem("unknown-lease", `There is no lease ${formatLease(id)}.`, "Look at your leases.");
      }
      const [params, machine] = await Promise.all([
        readParams(chain, pool, lease.params),
        readMachine(chain, pool, lease.machine),
      ]);
      return { lease, params, machine, head, undone: before && changed ? before.head : (before?.undone ?? null) };
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
