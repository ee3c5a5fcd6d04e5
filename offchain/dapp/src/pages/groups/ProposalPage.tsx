import { useQuery } from "@tanstack/react-query";
import { useParams, useSearchParams } from "react-router";
import { type Hex, isHex } from "viem";
import { Page } from "../../app/Page";
import { accountIn, askProposal, asksAccess, type Group, type Place } from "../../groups";
import { Problem } from "../../problem";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import type { Account } from "../../wallet";
import { AccessView } from "./AccessView";
import { ProposalView } from "./ProposalView";
import { useGroup } from "./useGroups";
import { WithPlace } from "./WithPlace";
import "../../ui/rows.css";
import "./groups.css";

const LOOK_EVERY = 3_000;

/** One thing that a group is asked to sign: what it does, who has signed, and the button that carries it out. */
export default function ProposalPage() {
  const { group = "", proposal = "" } = useParams();
  return (
    <Page title="Sign together" command="leasehold group approve proposal.json">
      <WithPlace why="Connect your wallet: if it signs for this group, you can sign here.">
        {(account, place) => <FoundProposal account={account} place={place} group={group} digest={proposal} />}
      </WithPlace>
    </Page>
  );
}

interface Shown {
  readonly account: Account;
  readonly place: Place;
}

function FoundProposal({ account, place, group, digest }: Shown & { group: string; digest: string }) {
  const [said] = useSearchParams();
  const address = tried(() => accountIn(group));
  if (address instanceof Error) return <ProblemView error={address} />;
  if (!isHex(digest) || digest.length !== 66) {
    return <ProblemView error={new Problem("no-such-proposal", "The link is damaged.", "Ask for it again.")} />;
  }
  return <OfGroup account={account} place={place} address={address} said={said} digest={digest} />;
}

interface OfGroupProps extends Shown {
  readonly address: Group["account"];
  readonly said: URLSearchParams;
  readonly digest: Hex;
}

function OfGroup({ account, place, address, said, digest }: OfGroupProps) {
  const group = useGroup(account, place, address, said);
  if (group.error) return <ProblemView error={group.error} onRetry={() => void group.refetch()} />;
  if (!group.data) return <Skeleton rows={6} />;
  return <Gathering account={account} place={place} group={group.data} digest={digest} />;
}

function Gathering({ account, place, group, digest }: Shown & { group: Group; digest: Hex }) {
  const gathered = useQuery({
    queryKey: ["groups", "proposal", digest],
    queryFn: () => askProposal(account.chain, place, group, digest),
    refetchInterval: LOOK_EVERY,
    retry: false,
  });
  const again = () => void gathered.refetch();
  if (!gathered.data) {
    return gathered.error ? <ProblemView error={gathered.error} onRetry={again} /> : <Skeleton rows={6} />;
  }
  const { data } = gathered;
  return asksAccess(data) ? (
    <AccessView account={account} place={place} gathered={data} onSigned={again} />
  ) : (
    <ProposalView account={account} place={place} gathered={data} onSigned={again} />
  );
}

function tried<Value>(act: () => Value): Value | Error {
  try {
    return act();
  } catch (error) {
    return error as Error;
  }
}
