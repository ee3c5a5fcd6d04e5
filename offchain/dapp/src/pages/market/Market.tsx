import { lazy, Suspense, useState } from "react";
import { useLive } from "../../api/live";
import type { MachineItem } from "../../api/machines";
import { useMachines, usePool } from "../../api/queries";
import type { Token } from "../../api/types";
import { Page } from "../../app/Page";
import { formatCount, prompt } from "../../format";
import { termsOf, wrongIn } from "../../search/terms";
import { DataTable } from "../../ui/DataTable";
import { Empty } from "../../ui/Empty";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { useLate } from "../../ui/useLate";
import { usePhone } from "../../ui/useMedia";
import { CompareBar } from "./CompareBar";
import { machineColumns } from "./columns";
import { MachineCards } from "./MachineCards";
import { MarketBar } from "./MarketBar";
import { SearchBox } from "./SearchBox";
import { useChanged } from "./useChanged";
import { type MarketUrl, useMarketUrl } from "./useMarketUrl";
import "./market.css";

const LONGEST = 1_000;
const Prices = lazy(() => import("./Prices"));

/** The pool's machines: searched, sorted, and as they change. */
export default function Market() {
  const url = useMarketUrl();
  const [prices, setPrices] = useState(false);
  useLive(["machines"]);
  const { data, error, isPlaceholderData, fetchNextPage, hasNextPage, isFetchingNextPage, refetch } = useMachines(url);
  const pool = usePool();
  const machines = data?.pages.flatMap((part) => part.items) ?? [];
  // Prices wait for their token, which a gateway asks a node for: else each row would be drawn twice, and moved by that.
  const late = useLate(pool.isPending, LONGEST);
  const whole = data !== undefined && (late || !pool.isPending);
  const total = data?.pages[0]?.total;
  return (
    <Page title="Find a machine" command={commandOf(url)} wide>
      <SearchBox url={url} error={error} />
      <MarketBar
        url={url}
        count={countOf(isPlaceholderData ? undefined : total, error)}
        prices={prices}
        onPrices={setPrices}
      />
      {prices && (
        <Suspense fallback={<Skeleton rows={6} />}>
          <Prices />
        </Suspense>
      )}
      {error !== null && data === undefined ? (
        wrongIn(error) === undefined && <ProblemView error={error} onRetry={() => void refetch()} />
      ) : !whole ? (
        <Skeleton rows={12} />
      ) : (
        <Found machines={machines} token={pool.data?.token} url={url} />
      )}
      {whole && hasNextPage && (
        <button type="button" className="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show more, {machines.length} of {total}
        </button>
      )}
      <CompareBar url={url} />
    </Page>
  );
}

function countOf(total: number | undefined, error: Error | null): string {
  if (error !== null) return "";
  if (total === undefined) return "Searching";
  return `${formatCount(total)} ${total === 1 ? "machine" : "machines"}`;
}

interface FoundProps {
  readonly machines: readonly MachineItem[];
  readonly token: Token | undefined;
  readonly url: MarketUrl;
}

function Found({ machines, token, url }: FoundProps) {
  const changed = useChanged(machines);
  const phone = usePhone();
  if (machines.length === 0) {
    return (
      <Empty says={url.q === "" ? "This pool has no machines yet." : "No machine matches all terms of this search."}>
        {url.q !== "" && (
          <button type="button" className="button primary" onClick={() => url.set({ q: "" })}>
            Show all machines
          </button>
        )}
      </Empty>
    );
  }
  if (phone || url.view === "cards")
    return <MachineCards machines={machines} token={token} url={url} changed={changed} />;
  return (
    <DataTable
      caption="Machines"
      columns={machineColumns(token, url)}
      rows={machines}
      rowKey={(machine) => machine.id}
      sort={url.sort}
      onSort={(sort) => url.set({ sort })}
      changed={changed}
    />
  );
}

function commandOf({ q, sort }: MarketUrl): string {
  const [terms, order] = [termsOf(q), sort === "price" ? [] : ["--sort", sort]];
  // A search that a link wrote is no option: one names whose market it is.
  const words = terms.some((term) => /^['"]*-/.test(term)) ? [...order, "--", ...terms] : [...terms, ...order];
  return words.length ? prompt`leasehold machines ${words}` : "leasehold machines";
}
