import { useQuery } from "@tanstack/react-query";
import { readFunds, send, withdrawDeed } from "../../chain";
import { exact } from "../../format";
import { DeedPanel } from "../../ui/DeedPanel";
import { type Account, DoingView, useDoing } from "../../wallet";

interface Props {
  readonly account: Account;
  /** What the gateway says is there: looked at again on the chain when it changes. */
  readonly ledger: string;
  readonly onDone: () => Promise<unknown>;
}

/** Takes what has been earned out of the pool's ledger. */
export function Withdrawing({ account, ledger, onDone }: Props) {
  const { pool, chain, sender } = account;
  const { doing, run } = useDoing();
  const funds = useQuery({
    queryKey: ["onchain", "ledger", pool.controller, sender.account, ledger],
    queryFn: () => readFunds(chain, pool, sender.account),
  });
  const there = funds.data?.ledger ?? 0n;
  if (there === 0n && doing.steps.length === 0) return null;
  const deed = withdrawDeed(pool, sender.account, there);
  const act = (): void =>
    void run("withdrawing", async (tell) => {
      await send(deed, sender, chain, (stage) => tell(deed.words, stage), pool.money);
      await Promise.all([funds.refetch(), onDone()]);
    });
  return (
    <DeedPanel title="What lies in your ledger" words={deed.words} asks="one transaction.">
      <div className="line">
        <button type="button" className="button" disabled={doing.busy || there === 0n} onClick={act}>
          Withdraw {exact(there, pool.money)}
        </button>
      </div>
      <DoingView doing={doing} chain={chain} />
    </DeedPanel>
  );
}
