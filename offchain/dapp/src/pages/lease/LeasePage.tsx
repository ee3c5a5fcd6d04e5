import { useParams } from "react-router";
import { isAddressEqual } from "viem";
import { Page } from "../../app/Page";
import { formatLease, parseLease } from "../../chain";
import { prompt } from "../../format";
import { Problem } from "../../problem";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { type Account, WithWallet } from "../../wallet";
import { openingOf } from "../rent/useRenting";
import { LeaseView } from "./LeaseView";
import { Reorganised, Undone } from "./Undone";
import { useLeaseOnChain } from "./useLeaseOnChain";
import "../../ui/more.css";
import "./lease.css";

/** One lease: where it stands, what it has cost, and everything that can be done with it. */
export default function LeasePage() {
  const shown = useParams().lease ?? "";
  return (
    <Page title={`Lease ${shown}`} command={prompt`leasehold show ${shown}`}>
      <WithWallet why="What runs in a lease is its tenant's: connect the wallet that rents it.">
        {(account) => <Found account={account} shown={shown} />}
      </WithWallet>
    </Page>
  );
}

function Found({ account, shown }: { account: Account; shown: string }) {
  let id: bigint;
  try {
    id = parseLease(shown);
  } catch (error) {
    return <ProblemView error={error} />;
  }
  return <Looked account={account} id={id} />;
}

function Looked({ account, id }: { account: Account; id: bigint }) {
  const found = useLeaseOnChain(account, id);
  const retry = (): void => void found.refetch();
  const opening = openingOf(formatLease(id));
  const gone = found.error instanceof Problem && found.error.code === "unknown-lease";
  if (gone && (found.data || opening)) return <Undone account={account} id={id} opening={opening} />;
  if (!found.data) return found.error ? <ProblemView error={found.error} onRetry={retry} /> : <Skeleton rows={8} />;
  const another = opening !== null && !isAddressEqual(found.data.lease.tenant, account.sender.account);
  return (
    <>
      {found.error && <ProblemView error={found.error} onRetry={retry} />}
      {another && <Undone account={account} id={id} opening={opening} />}
      {found.data.undone && !another && <Reorganised block={found.data.undone} />}
      <LeaseView account={account} now={found.data} />
    </>
  );
}
