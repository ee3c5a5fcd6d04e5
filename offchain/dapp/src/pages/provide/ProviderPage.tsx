import { lazy, Suspense, useState } from "react";
import { useParams } from "react-router";
import { isAddress, isAddressEqual } from "viem";
import { gateway } from "../../api/gateway";
import { useLive } from "../../api/live";
import type { ProviderWhole } from "../../api/providers";
import { usePool, useProvider } from "../../api/queries";
import type { Token } from "../../api/types";
import { Page } from "../../app/Page";
import { formatFree, shortAddress } from "../../format";
import { Address } from "../../ui/Address";
import { Facts } from "../../ui/Facts";
import { Money } from "../../ui/Money";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { type Account, usePoolChain } from "../../wallet";
import { Claims } from "./Claims";
import { Faults } from "./Faults";
import { Invoices } from "./Invoices";
import { OwnMachines } from "./OwnMachines";
import { Withdrawing } from "./Withdrawing";

const Earnings = lazy(() => import("./Earnings"));
const Usage = lazy(() => import("./Usage"));
const SPANS = [7, 30, 90, 366] as const;

/** A provider: machines, stake, what they have earned, what can be claimed, what went wrong. */
export default function ProviderPage() {
  const { provider: account = "" } = useParams();
  const [days, setDays] = useState<number>(30);
  useLive(["machines"]);
  const { data: provider, error, refetch } = useProvider(account, days);
  const token = usePool().data?.token;
  const own = useOwn(account);
  const again = (): Promise<unknown> => refetch();
  return (
    <Page title={`Provider ${shortAddress(account)}`} command="leasehold provider status">
      {provider !== undefined ? (
        <>
          <Figures provider={provider} token={token} />
          {own && <Claims account={own} onDone={again} />}
          {own && <Withdrawing account={own} ledger={provider.balance} onDone={again} />}
          <section className="panel rows" aria-label="Earnings">
            <div className="line apart">
              <h2>Earnings by day</h2>
              <div className="line">
                <select
                  className="input"
                  aria-label="Span"
                  value={days}
                  onChange={(event) => setDays(Number(event.target.value))}
                >
                  {SPANS.map((span) => (
                    <option key={span} value={span}>
                      {span} days
                    </option>
                  ))}
                </select>
                <a className="button little" href={gateway.url(`providers/${account}/earnings.csv`, { days })} download>
                  Save as CSV
                </a>
              </div>
            </div>
            <Suspense fallback={<Skeleton rows={6} />}>
              <Earnings earnings={provider.earnings} days={days} token={token} />
            </Suspense>
          </section>
          <section className="panel rows" aria-label="Utilisation">
            <h2>How much was leased</h2>
            <Suspense fallback={<Skeleton rows={6} />}>
              <Usage provider={provider.provider} cells={provider.cells} days={days} />
            </Suspense>
          </section>
          {token && <Invoices provider={provider.provider} token={token} />}
          <OwnMachines machines={provider.machines} provider={provider.provider} token={token} managed={own !== null} />
          <Faults faults={provider.faults} token={token} account={own} onDone={again} />
        </>
      ) : error !== null ? (
        <ProblemView error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton rows={12} />
      )}
    </Page>
  );
}

/** The wallet that is connected, where the account is its own. */
function useOwn(account: string): Account | null {
  const { pool, chain, sender } = usePoolChain();
  if (!pool || !chain || !sender || !isAddress(account)) return null;
  return isAddressEqual(sender.account, account) ? { pool, chain, sender } : null;
}

function Figures({ provider, token }: { provider: ProviderWhole; token: Token | undefined }) {
  const money = (amount: string) => <Money amount={amount} token={token} />;
  return (
    <section className="panel rows" aria-label="How it stands">
      <Facts
        facts={[
          ["Account", <Address address={provider.provider} />],
          ["Machines", String(provider.machines.length)],
          ["Leased now", `${formatFree(provider.leased_cells)} of ${formatFree(provider.cells)} GPUs`],
          ["Stake that answers for them", money(provider.stake)],
          ["Can be claimed of running leases", money(provider.claimable)],
          ["In the ledger, to withdraw", money(provider.balance)],
          ["Score", provider.score === null ? "not known yet" : `${provider.score} of 1000`],
        ]}
      />
    </section>
  );
}
