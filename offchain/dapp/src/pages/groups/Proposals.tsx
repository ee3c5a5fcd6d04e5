import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import {
  accessSentence,
  asksAccess,
  type Gathered,
  type GatheredAny,
  type Group,
  openProposals,
  type Place,
  routeOf,
  standingOf,
  wordsOf,
} from "../../groups";
import { Empty } from "../../ui/Empty";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { State } from "../../ui/State";
import type { Account } from "../../wallet";

const LOOK_EVERY = 4_000;

interface Props {
  readonly account: Account;
  readonly place: Place;
  readonly group: Group;
}

/** What the group is asked to sign, as far as it can be shown here. */
export function Proposals({ account, place, group }: Props) {
  const open = useQuery({
    queryKey: ["groups", "proposals", group.account],
    queryFn: () => openProposals(account.chain, place, group),
    refetchInterval: LOOK_EVERY,
    retry: false,
  });
  return (
    <section className="rows" aria-labelledby="to-sign">
      <h2 id="to-sign">To sign</h2>
      {open.error && <ProblemView error={open.error} onRetry={() => void open.refetch()} />}
      {!open.data && !open.error && <Skeleton rows={2} />}
      {open.data?.gathered.length === 0 && <Empty says="Nothing waits for signatures." />}
      {open.data && open.data.gathered.length > 0 && (
        <ul className="row-list">
          {open.data.gathered.map((gathered) => (
            <li key={gathered.proposal.digest}>
              {asksAccess(gathered) ? (
                <Row gathered={gathered} title={accessSentence(gathered.proposal)} kind="open" />
              ) : (
                <ProposalRow account={account} place={place} gathered={gathered} />
              )}
            </li>
          ))}
        </ul>
      )}
      {open.data && open.data.others > 0 && (
        <p className="small soft">
          {open.data.others} more cannot be shown here: look at them at the prompt, and sign nothing that is not shown.
        </p>
      )}
    </section>
  );
}

function ProposalRow({ account, place, gathered }: { account: Account; place: Place; gathered: Gathered }) {
  const { proposal } = gathered;
  const standing = useQuery({
    queryKey: ["onchain", "proposal", proposal.digest],
    queryFn: () => standingOf(account.chain, place, proposal),
    refetchInterval: LOOK_EVERY,
  });
  return <Row gathered={gathered} title={titleOf(place, gathered)} kind={standing.data?.kind} />;
}

interface RowProps {
  readonly gathered: GatheredAny;
  readonly title: string;
  readonly kind: Kind;
}

function Row({ gathered: { proposal, signatures }, title, kind }: RowProps) {
  return (
    <Link to={routeOf(proposal.group, proposal.digest)} className="linked-row group-row said">
      <span>{title}</span>
      <span className="numbers">
        {Math.min(signatures.size, proposal.group.threshold)} of {proposal.group.threshold} signed
      </span>
      <StandingWord kind={kind} />
    </Link>
  );
}

function titleOf(place: Place, { proposal }: Gathered): string {
  try {
    return wordsOf(place, proposal).join(" ");
  } catch {
    return "A call that cannot be shown: do not sign it.";
  }
}

type Kind = "open" | "over" | "spent" | "done" | undefined;

export function StandingWord({ kind }: { kind: Kind }) {
  if (kind === "done") return <State is="good">Carried out</State>;
  if (kind === "over") return <State is="plain">Too late</State>;
  if (kind === "spent") return <State is="plain">Overtaken</State>;
  return <State is="waiting">Open</State>;
}
