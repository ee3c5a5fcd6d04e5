import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { AgentClient } from "../../agent";
import { isAlone } from "../../api/gateway";
import type { Lease } from "../../chain";
import {
  type Access,
  type AskedAccess,
  accessOf,
  askedAccess,
  askForAccess,
  askProposal,
  asksAccess,
  type Gathered,
  type Group,
  keepAccess,
  openedAccess,
  type Place,
} from "../../groups";
import { useNow } from "../../ui/useNow";
import { type Account, type Tell, typedDataSigner } from "../../wallet";
import { agentUrl } from "../rent/useRenting";

const LOOK_EVERY = 3_000;

/** A lease of a group's for which the reader signs: what this tab has asked the group for, and the agent once it may. */
export function useGroupAgent(account: Account, place: Place, group: Group, lease: Lease) {
  const { chain, sender } = account;
  const now = useNow();
  const [kept, setAsked] = useState<AskedAccess | null>(() =>
    askedAccess(place, group.account, lease.id, sessionStorage, Math.floor(Date.now() / 1000)),
  );
  const asked = kept !== null && kept.session.expiresAt > now ? kept : null;
  const access = useMemo(() => (asked === null ? null : accessOf(place, group, asked.session)), [place, group, asked]);
  const gathered = useQuery({
    queryKey: ["groups", "access", access?.digest],
    queryFn: async (): Promise<Gathered<Access>> => {
      if (asked === null || access === null) throw new Error("nothing was asked for");
      const found = await askProposal(chain, place, group, access.digest);
      if (!asksAccess(found)) throw new Error("a digest names one thing");
      const opened = openedAccess(asked, found);
      if (opened.proof !== null) {
        keepAccess(place, opened, sessionStorage);
        setAsked(opened);
      }
      return found;
    },
    enabled: asked !== null && asked.proof === null,
    refetchInterval: LOOK_EVERY,
    retry: false,
  });
  const agent = useMemo(() => {
    if (asked === null || asked.proof === null || isAlone()) return null;
    const key = { session: asked.session, proof: asked.proof, privateKey: asked.privateKey };
    return new AgentClient({ pool: place.pool, machine: lease.machine, key, url: agentUrl });
  }, [asked, place, lease.machine]);
  const ask = useCallback(
    async (tell: Tell) => {
      const hands = { chain, place, group, member: sender.account, signTypedData: typedDataSigner(sender) };
      setAsked(await askForAccess({ ...hands, keep: sessionStorage, tell }, lease.id));
    },
    [chain, place, group, sender, lease.id],
  );
  return { asked, access, gathered, agent, ask };
}
