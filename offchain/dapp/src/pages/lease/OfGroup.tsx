import { type ReactNode, useMemo } from "react";
import { Link } from "react-router";
import type { AgentClient } from "../../agent";
import type { Lease } from "../../chain";
import { type Group, linkOf, type Place, routeOf } from "../../groups";
import { Address } from "../../ui/Address";
import { Copy } from "../../ui/Copy";
import { ProblemView } from "../../ui/ProblemView";
import { Progress } from "../../ui/Progress";
import { type Account, DoingView, useDoing } from "../../wallet";
import { useGroup, usePlace } from "../groups/useGroups";
import { useGroupAgent } from "./useGroupAgent";

interface Props {
  readonly account: Account;
  readonly lease: Lease;
  /** What is shown of the lease, by the agent where the group has let this tab talk to it. `said`: whose lease it is. */
  readonly children: (agent: AgentClient | null, said: ReactNode) => ReactNode;
}

const NO_LINK = new URLSearchParams();

/** Another account's lease: a group's for which the reader signs is shown once enough of the group have signed for this tab. */
export function OfGroup({ account, lease, children }: Props) {
  const place = usePlace(account);
  if (!place.data) return children(null, <Anothers lease={lease} />);
  return (
    <Placed account={account} lease={lease} place={place.data}>
      {children}
    </Placed>
  );
}

function Placed({ account, lease, place, children }: Props & { readonly place: Place }) {
  const group = useGroup(account, place, lease.tenant, NO_LINK);
  if (!group.data?.signers.includes(account.sender.account)) {
    return children(null, <Anothers lease={lease} />);
  }
  return (
    <Ours account={account} lease={lease} place={place} group={group.data}>
      {children}
    </Ours>
  );
}

function Anothers({ lease }: { lease: Lease }) {
  return (
    <p className="notice">
      <span>
        This lease is another account's: what runs in it is shown to its tenant alone. Is it a group's for which you
        sign? <Link to={`/groups/${lease.tenant}`}>Its page</Link> closes and extends it.
      </span>
    </p>
  );
}

function Ours({ account, lease, place, group, children }: Props & { readonly place: Place; readonly group: Group }) {
  const { access, gathered, agent, ask } = useGroupAgent(account, place, group, lease);
  const { doing, run } = useDoing();
  const link = useMemo(() => (access === null ? "" : linkOf(group, access.digest)), [access, group]);
  return children(
    agent,
    <section className="notice" aria-label="The group's lease">
      <h2>This lease is a group's for which you sign.</h2>
      <p>
        <Link to={routeOf(group)}>The group's page</Link> closes and extends it.
        {agent !== null && " Enough have signed: this tab sees and uses it, for a day at most."}
        {access === null &&
          " Status, logs, terminal and files are shown here once enough of the group have signed for this tab."}
      </p>
      {access !== null && agent === null && (
        <>
          <p>
            The others sign by the link, or under “To sign” on the group's page. This tab's key is{" "}
            <Address address={access.session.key} />; keep the tab open.
          </p>
          <Progress
            label="Signatures"
            done={Math.min(gathered.data?.signatures.size ?? 0, group.threshold)}
            all={group.threshold}
          />
        </>
      )}
      {agent === null && (
        <div className="line">
          <button
            type="button"
            className="button"
            disabled={doing.busy}
            onClick={() => void run("asking the group", ask)}
          >
            {access === null ? "Ask the group for a session" : "Ask the group anew"}
          </button>
          {access !== null && <Copy text={link} what="the link to sign, for the others" says="Copy the link" />}
        </div>
      )}
      {agent === null && access !== null && gathered.error && <ProblemView error={gathered.error} />}
      <DoingView doing={doing} chain={account.chain} />
    </section>,
  );
}
