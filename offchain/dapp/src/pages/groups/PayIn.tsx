import { type FormEvent, useState } from "react";
import { approveDeed, send } from "../../chain";
import { exact } from "../../format";
import { type Group, leaveOf, payInDeed } from "../../groups";
import { type Account, DoingView, useDoing } from "../../wallet";
import { AmountField } from "./AmountField";
import { unitsIn } from "./amounts";

/** Tokens from one's own wallet into the group's ledger, from which it rents. */
export function PayIn({ account, group }: { account: Account; group: Group }) {
  const { chain, pool, sender } = account;
  const [written, setWritten] = useState("");
  const { doing, run } = useDoing();
  const amount = unitsIn(written, pool.money.decimals);
  const pay = (event: FormEvent): void => {
    event.preventDefault();
    if (amount === null) return;
    void run("paying in", async (tell) => {
      const leave = await leaveOf(chain, pool, sender.account);
      for (const deed of [
        ...(leave < amount ? [approveDeed(pool, amount)] : []),
        payInDeed(pool, group.account, amount),
      ]) {
        await send(deed, sender, chain, (stage) => tell(deed.words, stage), pool.money);
      }
    });
  };
  return (
    <section className="panel rows" aria-labelledby="pay-in">
      <h2 id="pay-in">Pay into its ledger</h2>
      <p>
        The group rents from its ledger in the pool. What is there leaves it only by what enough signers have signed. Do
        not send tokens to its address itself.
      </p>
      <form className="line asked" onSubmit={pay}>
        <AmountField
          id="pay-amount"
          symbol={pool.money.symbol}
          written={written}
          valid={amount !== null}
          onWrite={setWritten}
        />
        <button type="submit" className="button" disabled={doing.busy || amount === null}>
          {amount === null ? "Pay in" : `Pay in ${exact(amount, pool.money)}`}
        </button>
      </form>
      <DoingView doing={doing} chain={chain} />
    </section>
  );
}
