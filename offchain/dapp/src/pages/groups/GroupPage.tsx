import { Link, useParams, useSearchParams } from "react-router";
import { Page } from "../../app/Page";
import { shortAddress } from "../../format";
import { accountIn, type Group, linkOf, type Place } from "../../groups";
import { Address } from "../../ui/Address";
import { Copy } from "../../ui/Copy";
import { Facts } from "../../ui/Facts";
import { Money } from "../../ui/Money";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import type { Account } from "../../wallet";
import { GroupLeases } from "./GroupLeases";
import { PayIn } from "./PayIn";
import { Proposals } from "./Proposals";
import { TakeOut } from "./TakeOut";
import { useGroup, useLedger } from "./useGroups";
import { WithPlace } from "./WithPlace";
import "../../ui/rows.css";
import "./groups.css";

/** One group or Safe: who signs, what it holds, what it is asked to sign, and the link for the others. */
export default function GroupPage() {
  const shown = useParams().group ?? "";
  return (
    <Page title={`Group ${shortAddress(shown)}`} command="leasehold group show lab">
      <WithPlace why="Connect your wallet to see whether it signs for this group, and what there is to sign.">
        {(account, place) => <FoundGroup account={account} place={place} shown={shown} />}
      </WithPlace>
    </Page>
  );
}

function FoundGroup({ account, place, shown }: { account: Account; place: Place; shown: string }) {
  try {
    return <Asked account={account} place={place} address={accountIn(shown)} />;
  } catch (error) {
    return <ProblemView error={error} />;
  }
}

function Asked({ account, place, address }: { account: Account; place: Place; address: Group["account"] }) {
  const [said] = useSearchParams();
  const group = useGroup(account, place, address, said);
  if (group.error) return <ProblemView error={group.error} onRetry={() => void group.refetch()} />;
  if (!group.data) return <Skeleton rows={6} />;
  return <GroupView account={account} place={place} group={group.data} />;
}

function GroupView({ account, place, group }: { account: Account; place: Place; group: Group }) {
  const ledger = useLedger(account, group.account);
  const signs = group.signers.includes(account.sender.account);
  const link = linkOf(group);
  return (
    <>
      <section className="panel rows" aria-label="Who signs, and what it holds">
        <Facts
          facts={[
            [
              "Kind",
              group.safe ? "a Safe, by its owners as the chain has them" : "a group, whose address its signers make",
            ],
            ["Address", <Address key="address" address={group.account} />],
            ["Must sign", `${group.threshold} of ${group.signers.length}`],
            [
              "Signers",
              <ul key="signers" className="signers">
                {group.signers.map((signer) => (
                  <li key={signer}>
                    <span>
                      <Address address={signer} />{" "}
                      {signer === account.sender.account && <span className="own-wallet">(your wallet)</span>}
                    </span>
                  </li>
                ))}
              </ul>,
            ],
            ["In its ledger", <Money key="ledger" amount={ledger.data ?? 0n} token={account.pool.money} />],
          ]}
        />
        {!signs && <p className="notice">The wallet that is connected does not sign for it; you can pay into it.</p>}
      </section>
      <Proposals account={account} place={place} group={group} />
      {signs && (
        <section className="panel rows" aria-labelledby="invite">
          <h2 id="invite">Invite the other signers</h2>
          <p>
            Whoever opens this link with a wallet among the signers sees what there is to sign. It holds nothing secret:
            the account's address and who signs for it.
          </p>
          <div className="line">
            <input className="input mono grow" readOnly aria-label="The link" value={link} />
            <Copy text={link} what="the link" />
          </div>
        </section>
      )}
      {signs && (
        <section className="panel rows" aria-labelledby="rent-together">
          <h2 id="rent-together">Rent a machine</h2>
          <p>
            Choose a machine, then choose the group under “Who rents”: that makes a proposal for the others to sign.
          </p>
          <div className="line">
            <Link className="button primary" to="/">
              Find a machine
            </Link>
          </div>
        </section>
      )}
      <GroupLeases account={account} place={place} group={group} signs={signs} />
      <PayIn account={account} group={group} />
      {signs && <TakeOut account={account} place={place} group={group} />}
    </>
  );
}
