import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { AgentClient, keptSession, type Phase, type SessionKey } from "../../agent";
import { isAlone } from "../../api/gateway";
import type { Account } from "../../wallet";
import { agentUrl, sessionFor } from "../rent/useRenting";

/** The lease's agent, once this tab has a session; `allow` has the wallet sign one. */
export function useAgent(account: Account, machine: number) {
  const { pool, sender } = account;
  const [key, setKey] = useState<SessionKey | null>(() =>
    keptSession(pool, sender.account, sessionStorage, Math.floor(Date.now() / 1000)),
  );
  const agent = useMemo(
    () =>
      key && key.session.account === sender.account && !isAlone()
        ? new AgentClient({ pool, machine, key, url: agentUrl })
        : null,
    [key, pool, machine, sender.account],
  );
  const allow = useCallback(
    async (tell: (words: string) => void) => setKey(await sessionFor(account, tell)),
    [account],
  );
  return { agent, allow };
}

const LOOK_EVERY = 2_000;
const LAST: ReadonlySet<Phase> = new Set(["ended", "declined"]);

/** What the agent says of the lease; looked at again and again while it is shown, until what it has to say of the end is
 * said, or it knows the lease no more. */
export function useStatus(agent: AgentClient | null, lease: bigint, live: boolean) {
  return useQuery({
    queryKey: ["agent", "status", agent?.way.machine, String(lease), agent !== null],
    queryFn: ({ signal }) => {
      if (agent === null) throw new Error("there is no session");
      return agent.status(lease, signal);
    },
    enabled: agent !== null,
    retry: false,
    refetchInterval: ({ state: { data, error } }) =>
      live || (error === null && data !== undefined && !LAST.has(data.phase)) ? LOOK_EVERY : false,
  });
}
