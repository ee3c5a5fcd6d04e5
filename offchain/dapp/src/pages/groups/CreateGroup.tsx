import { type FormEvent, useState } from "react";
import { useNavigate } from "react-router";
import { type Group, keepGroup, MAX_SIGNERS, makeGroup, type Place, routeOf } from "../../groups";
import { ProblemView } from "../../ui/ProblemView";
import type { Account } from "../../wallet";

/** Who signs and how many must: an address comes of it, and nothing is sent. */
export function CreateGroup({ account, place }: { account: Account; place: Place }) {
  const [others, setOthers] = useState<readonly string[]>(["", ""]);
  const [threshold, setThreshold] = useState(2);
  const [problem, setProblem] = useState<unknown>(null);
  const navigate = useNavigate();
  const named = [account.sender.account, ...others.filter((other) => other.trim())];
  const made = groupOf(place, threshold, named);
  const change = (at: number, text: string): void =>
    setOthers(others.map((other, place) => (place === at ? text : other)));
  const make = (event: FormEvent): void => {
    event.preventDefault();
    try {
      const group = makeGroup(place.accounts, threshold, named);
      keepGroup(place, localStorage, group);
      navigate(routeOf(group));
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <section className="panel rows" aria-labelledby="create-group">
      <h2 id="create-group">Make a group</h2>
      <p>
        A group's address is made of its signers: making one sends nothing and costs nothing. It can rent, pay and be
        paid like any account, and does nothing that too few have signed.
      </p>
      <form className="rows" onSubmit={make}>
        <div className="field">
          <label htmlFor="signer-0">Signer 1, your wallet</label>
          <input id="signer-0" className="input mono" readOnly value={account.sender.account} />
        </div>
        {others.map((other, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows are what their places are
          <div className="field" key={at}>
            <label htmlFor={`signer-${at + 1}`}>Signer {at + 2}</label>
            <input
              id={`signer-${at + 1}`}
              className="input mono"
              spellCheck={false}
              autoComplete="off"
              placeholder="0x…, the address of a wallet"
              value={other}
              onChange={(event) => change(at, event.target.value)}
            />
          </div>
        ))}
        <div className="line">
          <button
            type="button"
            className="button little"
            disabled={others.length + 1 >= MAX_SIGNERS}
            onClick={() => setOthers([...others, ""])}
          >
            Add a signer
          </button>
          {others.length > 1 && (
            <button type="button" className="button little" onClick={() => setOthers(others.slice(0, -1))}>
              Leave the last one out
            </button>
          )}
        </div>
        <label className="line">
          How many of them must sign
          <select className="input" value={threshold} onChange={(event) => setThreshold(Number(event.target.value))}>
            {Array.from({ length: Math.max(others.length + 1, threshold) }, (_, at) => at + 1).map((count) => (
              <option key={count}>{count}</option>
            ))}
          </select>
        </label>
        {threshold === named.length && named.length > 1 && (
          <p className="small">All must sign: if one loses the key, what the group holds is out of reach for ever.</p>
        )}
        {made !== null && (
          <p className="small">
            Its address will be <code className="break">{made.account}</code>.
          </p>
        )}
        <div className="line">
          <button type="submit" className="button primary">
            Make a group of {named.length}, {threshold} of whom must sign
          </button>
        </div>
      </form>
      {problem !== null && made === null && <ProblemView error={problem} />}
    </section>
  );
}

function groupOf(place: Place, threshold: number, named: readonly string[]): Group | null {
  try {
    return makeGroup(place.accounts, threshold, named);
  } catch {
    return null;
  }
}
