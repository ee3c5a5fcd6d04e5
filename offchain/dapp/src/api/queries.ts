import { keepPreviousData, queryOptions, useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { Problem } from "../problem";
import { gateway, isAlone } from "./gateway";
import type { Fault, MachineItem, MachineWhole, Quote } from "./machines";
import type { PoolWhole, PriceSeries, Round, Seat, Vote } from "./pools";
import type { ProviderWhole } from "./providers";
import type { Block, Part } from "./types";

/** The gateway's answers, kept by TanStack Query. A key begins with the topic that makes its answer stale. */

export interface MachineSearch {
  readonly q: string;
  readonly sort: string;
}

/** A pool, and the block at which it is so. */
export type AnsweredPool = PoolWhole & { block: Block };

const PART = 50;

/** The pool that the gateway serves: its token, rules and contracts. */
export function usePool() {
  return useQuery({
    queryKey: ["pool"],
    queryFn: async ({ signal }): Promise<AnsweredPool> => {
      const { items, block } = await gateway.get<Part<PoolWhole>>("pools", {}, signal);
      const [pool] = items;
      if (pool === undefined) throw new Problem("no-pool", "The gateway serves no pool.", "Choose another gateway.");
      return { ...pool, block };
    },
    staleTime: 60_000,
  });
}

/** Machines that match a search, part by part. While another search is asked, the last one's are shown. */
export function useMachines({ q, sort }: MachineSearch) {
  return useInfiniteQuery({
    queryKey: ["machines", "search", q, sort],
    queryFn: ({ pageParam, signal }) =>
      gateway.get<Part<MachineItem>>("machines", { q, sort, limit: PART, after: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
  });
}

/** One machine, whole. */
export function machineQuery(machine: string) {
  return queryOptions({
    queryKey: ["machines", "one", machine],
    queryFn: async ({ signal }) =>
      (await gateway.get<{ machine: MachineWhole }>(`machines/${machine}`, {}, signal)).machine,
  });
}

export function useMachine(machine: string) {
  return useQuery(machineQuery(machine));
}

const TOGETHER = 50;

/** Machines by their numbers, as far as they have come: to call them by their names. Retired ones are not among them. */
export function useMachinesOf(numbers: readonly number[]): ReadonlyMap<number, MachineItem> {
  const wanted = [...new Set(numbers)].sort((one, other) => one - other);
  const parts = Array.from({ length: Math.ceil(wanted.length / TOGETHER) }, (_, part) =>
    wanted.slice(part * TOGETHER, (part + 1) * TOGETHER).join(","),
  );
  const asked = useQueries({
    queries: parts.map((part) => ({
      queryKey: ["machines", "named", part],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        gateway.get<Part<MachineItem>>("machines", { q: `id:${part}`, limit: TOGETHER }, signal),
      enabled: !isAlone(),
      staleTime: 60_000,
    })),
  });
  return new Map(asked.flatMap(({ data }) => data?.items ?? []).map((machine) => [machine.id, machine]));
}

/** What a share would cost; cells, and seconds that it runs. */
export function useQuote(machine: number, wish: { cells: number; seconds: number; spot: boolean }) {
  return useQuery({
    queryKey: ["machines", "quote", machine, wish],
    queryFn: async ({ signal }) =>
      (await gateway.get<{ quote: Quote }>(`machines/${machine}/quote`, wish, signal)).quote,
    enabled: wish.seconds > 0,
    placeholderData: keepPreviousData,
  });
}

/** What GPUs of every class were asked for, so many days back. */
export function usePrices(query: { days: number }) {
  return useQuery({
    queryKey: ["prices", query],
    queryFn: async ({ signal }) => (await gateway.get<Part<PriceSeries>>("prices", query, signal)).items,
    staleTime: 60_000,
  });
}

/** Validators' seats, the first 200. */
export function useValidators() {
  return useQuery({
    queryKey: ["validators"],
    queryFn: ({ signal }) => gateway.get<Part<Seat>>("validators", { limit: 200 }, signal),
  });
}

/** The newest verifications. */
export function useRounds() {
  return useQuery({
    queryKey: ["rounds"],
    queryFn: ({ signal }) => gateway.get<Part<Round>>("rounds", { limit: 50 }, signal),
  });
}

/** What each seat said in these rounds, by round, as far as it has come. */
export function useVotes(rounds: readonly number[]): ReadonlyMap<number, readonly Vote[]> {
  const asked = useQueries({
    queries: rounds.map((round) => ({
      queryKey: ["rounds", "one", round],
      queryFn: async ({ signal }: { signal: AbortSignal }) =>
        (await gateway.get<{ round: { votes: Vote[] } }>(`rounds/${round}`, {}, signal)).round.votes,
    })),
  });
  return new Map(
    rounds.flatMap((round, place) => {
      const votes = asked[place]?.data;
      return votes === undefined ? [] : [[round, votes] as const];
    }),
  );
}

/** The newest faults of any machine. */
export function useFaults() {
  return useQuery({
    queryKey: ["machines", "faults"],
    queryFn: ({ signal }) => gateway.get<Part<Fault>>("faults", { limit: 50 }, signal),
  });
}

/** A provider's machines and money, with what each of the last days brought. */
export function useProvider(provider: string, days: number) {
  return useQuery({
    queryKey: ["machines", "provider", provider, days],
    queryFn: async ({ signal }) =>
      (await gateway.get<{ provider: ProviderWhole }>(`providers/${provider}`, { days }, signal)).provider,
    placeholderData: keepPreviousData,
  });
}
