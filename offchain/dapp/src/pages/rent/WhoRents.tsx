import { Link } from "react-router";
import { shortAddress } from "../../format";
import type { Group } from "../../groups";

interface Props {
  readonly account: string;
  readonly groups: readonly Group[];
  readonly chosen: Group | undefined;
  /** Whether the address names a group for which this wallet does not sign. */
  readonly lost: boolean;
  readonly onChoose: (account: string) => void;
}

/** The wallet itself, or a group or Safe that it signs for. */
export function WhoRents({ account, groups, chosen, lost, onChoose }: Props) {
  if (groups.length === 0 && !lost) return null;
  return (
    <section className="panel rows" aria-labelledby="who-rents">
      <h2 id="who-rents">Who rents</h2>
      <div className="field">
        <label htmlFor="rents-as">The account that pays and holds the lease</label>
        <select
          id="rents-as"
          className="input"
          value={chosen?.account ?? ""}
          onChange={(event) => onChoose(event.target.value)}
        >
          <option value="">Your wallet, {shortAddress(account)}</option>
          {groups.map((group) => (
            <option key={group.account} value={group.account}>
              {group.safe ? "Safe" : "Group"} {shortAddress(group.account)}, {group.threshold} of {group.signers.length}
            </option>
          ))}
        </select>
      </div>
      {lost && (
        <p className="notice warning">Your wallet does not sign for the group in this link: choose who rents.</p>
      )}
      {chosen && (
        <p className="small soft">
          It pays from its ledger. What you make here is a proposal: {chosen.threshold} of its {chosen.signers.length}{" "}
          signers sign it on <Link to={`/groups/${chosen.account}`}>its page</Link>, then anybody carries it out. The
          machine holds the workload for about an hour, and so long the proposal waits.
        </p>
      )}
    </section>
  );
}
