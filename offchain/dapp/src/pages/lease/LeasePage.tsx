import { useParams } from "react-router";
import { Page } from "../../app/Page";
import { parseLease } from "../../chain";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { type Account, WithWallet } from "../../wallet";
import { LeaseView } from "./LeaseView";
import { useLeaseOnChain } from "./useLeaseOnChain";
import "./lease.css";

/** One lease: where it stands, what it has cost, and everything that can be done with it. */
export default function LeasePage() {
  const shown = useParams().lease ?? "";
  return (
    <Page title={`Lease ${shown}`} command={`leasehold show ${shown}`}>
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
  if (found.data) {
    return (
      <>
        {found.error && <ProblemView error={found.error} onRetry={() => void found.refetch()} />}
        <LeaseView account={account} now={found.data} />
      </>
    );
  }
  if (found.error) return <ProblemView error={found.error} onRetry={() => void found.refetch()} />;
  return <Skeleton rows={8} />;
}
