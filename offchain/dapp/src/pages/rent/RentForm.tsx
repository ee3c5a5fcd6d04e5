import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { keptSession } from "../../agent";
import { isAlone } from "../../api/gateway";
import { useMachinesOf } from "../../api/queries";
import { MachineStatus, readMachine } from "../../chain";
import { formatDuration } from "../../format";
import { routeOf } from "../../groups";
import { offerOf } from "../../renting";
import { templates } from "../../sealing";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { type Account, DoingView, useDoing } from "../../wallet";
import { useKeyBook } from "../data/useKeyBook";
import { useOwnGroups, usePlace } from "../groups/useGroups";
import { SilentAgent } from "../machine/SilentAgent";
import { shareIn } from "../market/words";
import { type Draft, lacking, NEW_DRAFT, workloadOf } from "./draft";
import { PricePanel } from "./PricePanel";
import { Shape } from "./Shape";
import { proposeShown, rentShown, useContact } from "./useRenting";
import type { RentUrl } from "./useRentUrl";
import { WhatGoesIn } from "./WhatGoesIn";
import { WhatRuns } from "./WhatRuns";
import { WhoRents } from "./WhoRents";

interface Props {
  readonly account: Account;
  readonly machine: number;
  readonly url: RentUrl;
  readonly onUrl: (change: Partial<RentUrl>) => void;
}

/** One machine being rented: what runs, how much of it, the price, and the one button. */
export function RentForm({ account, machine: id, url, onUrl }: Props) {
  const { chain, pool, sender } = account;
  const [draft, setDraft] = useState<Draft>(NEW_DRAFT);
  const [unverified, setUnverified] = useState(false);
  const [, keys] = useKeyBook(sender.account);
  const { doing, run } = useDoing();
  const navigate = useNavigate();
  const contact = useContact(account, id);
  const place = usePlace(account);
  const groups = useOwnGroups(account, place.data);
  const together = isAlone() ? [] : (groups.data ?? []); // signatures are gathered by a gateway
  const group = together.find(({ account: address }) => address === url.as);
  const payer = group?.account ?? sender.account;
  const machine = useQuery({
    queryKey: ["onchain", "machine", pool.controller, id],
    queryFn: () => readMachine(chain, pool, id),
  });
  const kind = useMachinesOf([id]).get(id)?.kind;
  const share = url.share || machine.data?.smallestShare || 8;
  const wish = { share, duration: url.seconds, allowUnverified: unverified, spot: url.spot };
  const offer = useQuery({
    queryKey: ["onchain", "offer", pool.controller, id, payer, wish],
    queryFn: () => offerOf(chain, pool, id, wish, payer, group !== undefined),
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  });
  const template = templates.find(({ name }) => name === url.template);
  const images = useMemo(() => contact.data?.images ?? [], [contact.data]);
  const missing = lacking(draft, template, images);
  const workload = missing ? null : workloadOf(draft, template, images);
  const error = machine.error ?? contact.error ?? offer.error;
  if (error)
    return (
      <ProblemView
        error={error}
        onRetry={() => void Promise.all([machine.refetch(), contact.refetch(), offer.refetch()])}
      />
    );
  if (!machine.data || !contact.data || !offer.data) return <Skeleton rows={8} />;
  const { quote, problem } = offer.data;
  const stale =
    offer.isPlaceholderData || quote.share !== share || quote.duration !== url.seconds || quote.spot !== url.spot;
  const needsSession =
    !isAlone() && keptSession(pool, sender.account, sessionStorage, Math.floor(Date.now() / 1000)) === null;
  const rentNow = (): void => {
    if (!workload) return;
    void run("renting", async (tell) => {
      if (group && place.data) {
        navigate(routeOf(group, await proposeShown(account, place.data, group, quote, workload, tell)));
      } else navigate(`/leases/${await rentShown(account, quote, workload, tell)}`);
    });
  };
  return (
    <div className="rent-columns">
      <div className="rows">
        <SilentAgent machine={id} />
        <WhatRuns
          draft={draft}
          template={template}
          images={images}
          onTemplate={(name) => onUrl({ template: name })}
          onDraft={setDraft}
        />
        <WhatGoesIn account={account} draft={draft} onDraft={setDraft} />
        <WhoRents
          account={sender.account}
          groups={together}
          chosen={group}
          lost={url.as !== "" && groups.data !== undefined && !groups.isFetching && !group}
          onChoose={(as) => onUrl({ as })}
        />
        <Shape machine={machine.data} kind={kind} share={share} seconds={url.seconds} onChange={onUrl} />
        {machine.data.terms.spotPrice > 0n && (
          <label className="line">
            <input type="checkbox" checked={url.spot} onChange={(event) => onUrl({ spot: event.target.checked })} />
            At the spot price: the provider may end it with notice
          </label>
        )}
        {machine.data.status === MachineStatus.unverified && (
          <label className="line notice warning">
            <span>
              <input type="checkbox" checked={unverified} onChange={(event) => setUnverified(event.target.checked)} />{" "}
              Nobody has measured this machine: I rent it all the same.
            </span>
          </label>
        )}
        {isAlone() && (
          <p className="notice">
            No gateway is asked: the sealed workload is left on your IPFS node, and the machine's agent fetches it from
            there. Let the node run, reachable from the internet, until the lease has started. An agent that does not
            find it declines, and all of the deposit comes back.
          </p>
        )}
      </div>
      <div className="rows rent-price">
        <PricePanel
          pool={pool}
          quote={quote}
          kind={kind}
          workload={workload}
          hasSession={!needsSession}
          hasResultsKey={keys.results !== null}
          group={group}
        >
          <button
            type="button"
            className="button primary"
            disabled={doing.busy || stale || problem !== null || missing !== null || (url.as !== "" && !group)}
            onClick={rentNow}
          >
            {group ? "Propose to rent" : "Rent"} {shareIn(share, kind)} for {formatDuration(url.seconds)}
          </button>
          {missing && <p className="small">{missing}</p>}
        </PricePanel>
        {problem && <ProblemView error={problem} />}
        <DoingView doing={doing} chain={chain} />
      </div>
    </div>
  );
}
