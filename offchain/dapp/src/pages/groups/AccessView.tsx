import { Link } from "react-router";
import {
  type Access,
  accessRows,
  accessSentence,
  bringSignature,
  type Gathered,
  linkOf,
  type Place,
  routeOf,
  signAccess,
} from "../../groups";
import { Address } from "../../ui/Address";
import { Copy } from "../../ui/Copy";
import { Time } from "../../ui/Time";
import { useNow } from "../../ui/useNow";
import { type Account, DoingView, typedDataSigner, useDoing } from "../../wallet";
import { Signers } from "./Signers";

interface Props {
  readonly account: Account;
  readonly place: Place;
  readonly gathered: Gathered<Access>;
  readonly onSigned: () => void;
}

/** A session that one of the group's asks for: what it lets whose key do, and who has signed. */
export function AccessView({ account, place, gathered, onSigned }: Props) {
  const { proposal, signatures } = gathered;
  const { group, session } = proposal;
  return (
    <>
      <section className="panel rows" aria-labelledby="what">
        <h2 id="what">What is signed</h2>
        <p>{accessSentence(proposal)}</p>
        <p>
          The browser's key is <Address address={session.key} />: whoever asks sees the same one on the lease's page.
          Sign if you know who that is. <Link to={routeOf(group)}>{group.safe ? "The Safe" : "The group"}</Link>{" "}
          <Address address={group.account} /> lets that key in until <Time at={session.expiresAt} />.
        </p>
        <details>
          <summary>Every value that is signed</summary>
          <dl className="exactly">
            {accessRows(proposal).map(([name, value]) => (
              <div key={name}>
                <dt className="small">{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </details>
      </section>
      <section className="panel rows" aria-labelledby="who">
        <h2 id="who">Who has signed</h2>
        <Signers group={group} signatures={signatures} own={account.sender.account} />
        <Signing account={account} place={place} gathered={gathered} onSigned={onSigned} />
      </section>
    </>
  );
}

function Signing({ account, place, gathered, onSigned }: Props) {
  const { proposal, signatures } = gathered;
  const { group, session } = proposal;
  const { sender, chain } = account;
  const { doing, run } = useDoing();
  const now = useNow();
  const sign = (): void =>
    void run("signing", async (tell) => {
      tell("Sign it in your wallet");
      await bringSignature(proposal, sender.account, await signAccess(place, proposal, typedDataSigner(sender)));
      onSigned();
    });
  if (session.expiresAt <= now) return <p className="notice">It is too late: its time is over. Ask for it again.</p>;
  if (signatures.size >= group.threshold) {
    return (
      <p className="notice" role="status">
        Enough have signed: the page that asked opens it by itself.
      </p>
    );
  }
  return (
    <>
      <div className="line">
        {group.signers.includes(sender.account) && !signatures.has(sender.account) && (
          <button type="button" className="button primary" disabled={doing.busy} onClick={sign}>
            Sign this with your wallet
          </button>
        )}
        <Copy text={linkOf(group, proposal.digest)} what="the link to this, for the others" says="Copy the link" />
      </div>
      <DoingView doing={doing} chain={chain} />
    </>
  );
}
