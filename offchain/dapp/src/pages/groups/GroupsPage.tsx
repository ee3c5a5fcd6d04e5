import { Link } from "react-router";
import { Page } from "../../app/Page";
import { shortAddress } from "../../format";
import { type Group, type Place, routeOf } from "../../groups";
import { Empty } from "../../ui/Empty";
import { Skeleton } from "../../ui/Skeleton";
import type { Account } from "../../wallet";
import { AddSafe } from "./AddSafe";
import { CreateGroup } from "./CreateGroup";
import { useOwnGroups } from "./useGroups";
import { WithPlace } from "./WithPlace";
import "../../ui/rows.css";
import "./groups.css";

/** The groups that one signs for, and how to make one. */
export default function GroupsPage() {
  return (
    <Page title="Groups that rent together" command="leasehold group list">
      <WithPlace why="A group is several wallets that are one account: connect yours to see the groups it signs for.">
        {(account, place) => (
          <>
            <OwnGroups account={account} place={place} />
            <CreateGroup account={account} place={place} />
            <AddSafe account={account} place={place} />
          </>
        )}
      </WithPlace>
    </Page>
  );
}

function OwnGroups({ account, place }: { account: Account; place: Place }) {
  const groups = useOwnGroups(account, place);
  if (!groups.data) return <Skeleton rows={2} />;
  if (groups.data.length === 0) return <Empty says="This wallet signs for no group that is known here." />;
  return (
    <ul className="row-list" aria-label="Your groups">
      {groups.data.map((group) => (
        <li key={group.account}>
          <Link to={routeOf(group)} className="linked-row group-row">
            <strong>{nameOf(group)}</strong>
            <span className="mono" title={group.account}>
              {shortAddress(group.account)}
            </span>
            <span>
              {group.threshold} of {group.signers.length} must sign
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function nameOf(group: Group): string {
  return group.safe ? "A Safe" : "A group";
}
