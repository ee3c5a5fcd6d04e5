import { useId, useState } from "react";
import { Link, useNavigate } from "react-router";
import { Page } from "../../app/Page";
import { useWallet } from "../../wallet";
import { Joining } from "./Joining";

/** For who has GPUs: a look at one's machines and money, and how a host joins. */
export default function Provide() {
  const id = useId();
  const navigate = useNavigate();
  const own = useWallet().account;
  const [typed, setTyped] = useState("");
  const account = typed.trim();
  const valid = /^0x[0-9a-fA-F]{40}$/.test(account);
  return (
    <Page title="Provide machines" command="leasehold provider status">
      <section className="panel rows" aria-label="Your machines and money">
        <h2>Your machines and money</h2>
        <form
          className="line"
          onSubmit={(event) => {
            event.preventDefault();
            if (valid) navigate(`/providers/${account}`);
          }}
        >
          <div className="field account-field">
            <label htmlFor={id}>The account that staked them</label>
            <input
              id={id}
              className="input mono"
              value={typed}
              placeholder="0x…"
              spellCheck={false}
              autoComplete="off"
              aria-invalid={account !== "" && !valid}
              onChange={(event) => setTyped(event.target.value)}
            />
          </div>
          <button type="submit" className="button primary" disabled={!valid}>
            Show machines and earnings
          </button>
        </form>
        {own !== null && (
          <p>
            <Link className="button" to={`/providers/${own}`}>
              Those of the wallet that is connected
            </Link>
          </p>
        )}
        <p className="small soft">All of it stands on the chain: no wallet is needed to look.</p>
      </section>
      <Joining account={own} />
    </Page>
  );
}
