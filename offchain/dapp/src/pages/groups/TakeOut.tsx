import { type FormEvent, useState } from "react";
import { isAddress } from "viem";
import { exact } from "../../format";
import { type Group, type Place, withdrawCall } from "../../groups";
import { type Account, DoingView } from "../../wallet";
import { AmountField } from "./AmountField";
import { unitsIn } from "./amounts";
import { useProposing } from "./useProposing";

/** Proposes to take tokens out of the group's ledger into somebody's wallet. */
export function TakeOut({ account, place, group }: { account: Account; place: Place; group: Group }) {
  const { pool, sender, chain } = account;
  const [written, setWritten] = useState("");
  const [to, setTo] = useState<string>(sender.account);
  const { doing, start } = useProposing(account, place, group);
  const amount = unitsIn(written, pool.money.decimals);
  const receiver = isAddress(to.trim()) ? to.trim() : null;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (amount !== null && receiver !== null) start([withdrawCall(pool, receiver as `0x${string}`, amount)]);
  };
  return (
    <section className="panel rows" aria-labelledby="take-out">
      <h2 id="take-out">Take out of its ledger</h2>
      <form className="line asked" onSubmit={submit}>
        <AmountField
          id="take-amount"
          symbol={pool.money.symbol}
          written={written}
          valid={amount !== null}
          onWrite={setWritten}
        />
        <div className="field grow">
          <label htmlFor="take-to">Into the wallet of</label>
          <input
            id="take-to"
            className="input mono"
            spellCheck={false}
            autoComplete="off"
            value={to}
            aria-invalid={receiver === null}
            onChange={(event) => setTo(event.target.value)}
          />
        </div>
        <button type="submit" className="button" disabled={doing.busy || amount === null || receiver === null}>
          Propose to take out {amount === null ? "…" : exact(amount, pool.money)}
        </button>
      </form>
      <DoingView doing={doing} chain={chain} />
    </section>
  );
}
