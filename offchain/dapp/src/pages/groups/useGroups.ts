import { useQuery } from "@tanstack/react-query";
import type { Address } from "viem";
import { readFunds } from "../../chain";
import {
  askGroup,
  checked,
  type Group,
  groupInLink,
  groupsOf,
  type KnownGroup,
  keepGroup,
  knownGroups,
  type Place,
  readPlace,
  readSafe,
} from "../../groups";
import type { Account } from "../../wallet";

const LOOK_EVERY = 3_000;

/** Where groups act, by the chain's word. */
export function usePlace({ chain, pool }: Account) {
  return useQuery({
    queryKey: ["onchain", "place", pool.controller],
    queryFn: () => readPlace(chain, pool),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** The groups and Safes that the connected account signs for: those that this browser knows, and those of the gateway. */
export function useOwnGroups({ chain, sender }: Account, place: Place | undefined) {
  return useQuery({
    queryKey: ["groups", sender.account, place?.accounts],
    queryFn: async (): Promise<readonly Group[]> => {
      if (place === undefined) return [];
      const told = await groupsOf(place, sender.account).catch(() => []); // a gateway that gathers nothing
      const known = new Map<Address, KnownGroup>();
      for (const group of [...knownGroups(place, localStorage), ...told]) {
        if (!known.has(group.account)) known.set(group.account, group);
      }
      const whole = await Promise.allSettled(
        [...known.values()].map(async (group) => ("signers" in group ? group : await readSafe(chain, group.account))),
      );
      return whole
        .flatMap((read) => (read.status === "fulfilled" ? [read.value] : []))
        .filter((group) => group.signers.includes(sender.account));
    },
    enabled: place !== undefined,
    staleTime: 0, // another page may have kept one meanwhile
  });
}

/** The group at an address: by the link, by this browser's memory, else by the gateway; a Safe by the chain. */
export function useGroup({ chain, sender }: Account, place: Place, address: Address, said: URLSearchParams) {
  return useQuery({
    queryKey: ["onchain", "group", place.accounts, address, said.toString()],
    queryFn: async (): Promise<Group> => {
      const found = await foundGroup(chain, place, address, said);
      if (found.signers.includes(sender.account)) keepGroup(place, localStorage, found);
      return found;
    },
    retry: false,
  });
}

async function foundGroup(chain: Account["chain"], place: Place, address: Address, said: URLSearchParams) {
  if (said.get("safe") === "1") return await readSafe(chain, address);
  const linked = groupInLink(place, address, said);
  if (linked !== null) return linked;
  const known = knownGroups(place, localStorage).find((group) => group.account === address);
  if (known !== undefined) return "signers" in known ? known : await readSafe(chain, address);
  return checked(address, await askGroup(place, address));
}

/** What the group's ledger holds, in token units. */
export function useLedger({ chain, pool }: Account, address: Address) {
  return useQuery({
    queryKey: ["onchain", "ledger", pool.controller, address],
    queryFn: async () => (await readFunds(chain, pool, address)).ledger,
    refetchInterval: LOOK_EVERY,
  });
}
