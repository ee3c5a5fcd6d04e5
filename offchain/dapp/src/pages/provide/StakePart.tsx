import { useId, useState } from "react";
import { type OwnMachine, type ProviderRules, retireDeed, stakeDeed, unstakableAt, unstakeDeed } from "../../chain";
import { exact, formatDuration, parseAmount } from "../../format";
import { addStake, changeListing, retire, takeStake, unstakeObstacle } from "../../providing";
import { DeedPanel } from "../../ui/DeedPanel";
import { Money } from "../../ui/Money";
import { Time } from "../../ui/Time";
import { type Account, DoingView, type Tell, typedDataSigner, useDoing } from "../../wallet";
import { WhyNot } from "./WhyNot";

interface Props {
  readonly account: Account;
  readonly machine: OwnMachine;
  readonly rules: ProviderRules;
  /** By the chain's head, where that is ahead of this clock. */
  readonly now: number;
  readonly onDone: () => Promise<unknown>;
}

/** More at stake, and the way out: retire, wait, take the stake back. */
export function StakePart(props: Props) {
  return props.machine.retiredAt !== 0 ? <Leaving {...props} /> : <Staying {...props} />;
}

/** Runs something that asks the wallet, then looks again. */
function useHands({ account, onDone }: Pick<Props, "account" | "onDone">) {
  const { doing, run } = useDoing();
  const act = (what: string, go: (hands: HandsOf) => Promise<void>): void =>
    void run(what, async (tell) => {
      await go({ ...account, signTypedData: typedDataSigner(account.sender), tell });
      await onDone();
    });
  return { doing, act };
}

type HandsOf = Account & { signTypedData: ReturnType<typeof typedDataSigner>; tell: Tell };

function Staying({ account, machine, rules, onDone }: Omit<Props, "now">) {
  const { pool, chain } = account;
  const id = useId();
  const [typed, setTyped] = useState("");
  const { doing, act } = useHands({ account, onDone });
  const amount = parseAmount(typed, pool.money.decimals);
  const ready = amount !== undefined && amount > 0n;
  const delay = formatDuration(rules.unstakeDelay);
  return (
    <>
      <DeedPanel
        title="Its stake"
        words={ready ? stakeDeed(pool, machine.id, amount, null).words : "Write how much to add."}
        facts={[
          ["At stake now", <Money key="stake" amount={machine.stake} token={pool.money} places="exact" />],
          machine.underStaked ? ["It lacks stake", "and takes no new lease before there is more"] : undefined,
          [
            "At least",
            <>
              <Money amount={rules.minStakePerGpu * BigInt(machine.gpus)} token={pool.money} />, less with a good record
            </>,
          ],
          ["Lost at most", `${rules.maxSlashBps / 100} % of it in seven days, for proven faults`],
          ["Comes back", `${delay} after the machine has left for good`],
        ]}
        asks="one transaction; before that, where your ledger has not so much, a signature that lets the pool take the rest from your wallet."
      >
        <div className="line">
          <div className="field">
            <label htmlFor={id}>Add ({pool.money.symbol})</label>
            <input
              id={id}
              className="input"
              inputMode="decimal"
              value={typed}
              autoComplete="off"
              aria-invalid={typed !== "" && !ready}
              onChange={(event) => setTyped(event.target.value)}
            />
          </div>
          <button
            type="button"
            className="button stake-button"
            disabled={!ready || doing.busy}
            onClick={() => ready && act("adding to the stake", (hands) => addStake(hands, machine.id, amount))}
          >
            {ready ? `Add ${exact(amount, pool.money)} to the stake` : "Add to the stake"}
          </button>
        </div>
        <DoingView doing={doing} chain={chain} />
      </DeedPanel>
      <Retiring account={account} machine={machine} rules={rules} onDone={onDone} />
    </>
  );
}

function Retiring({ account, machine, rules, onDone }: Omit<Props, "now">) {
  const { pool, chain } = account;
  const [sure, setSure] = useState(false);
  const { doing, act } = useHands({ account, onDone });
  const leased = machine.leased !== 0n;
  return (
    <DeedPanel
      title="Take it off the market"
      words={retireDeed(pool, machine.id, rules.unstakeDelay).words}
      facts={[
        ["Out of sale", "can be undone, and takes no stake back"],
        ["Retired", "cannot be undone: the machine would have to join anew"],
        leased ? ["It is leased", "so it can be taken out of sale now, and retired once it is empty"] : undefined,
      ]}
      asks="one transaction."
    >
      <div className="line">
        <button
          type="button"
          className="button"
          disabled={doing.busy}
          onClick={() => act("the listing", (hands) => changeListing(hands, machine.id, machine.delisted))}
        >
          {machine.delisted ? "Put it back on sale" : "Take it out of sale"}
        </button>
        <label className="line">
          <input type="checkbox" checked={sure} onChange={(event) => setSure(event.target.checked)} />
          It leaves for good
        </label>
        <button
          type="button"
          className="button"
          disabled={doing.busy || !sure || leased}
          onClick={() => act("retiring the machine", (hands) => retire(hands, machine.id, rules.unstakeDelay))}
        >
          Retire machine {machine.id}
        </button>
      </div>
      <DoingView doing={doing} chain={chain} />
    </DeedPanel>
  );
}

function Leaving({ account, machine, rules, now, onDone }: Props) {
  const { pool, chain } = account;
  const { doing, act } = useHands({ account, onDone });
  const problem = unstakeObstacle(machine, rules, now);
  const at = unstakableAt(machine, rules);
  return (
    <DeedPanel
      title="Its stake"
      words={unstakeDeed(pool, machine).words}
      facts={[
        ["At stake now", <Money key="stake" amount={machine.stake} token={pool.money} places="exact" />],
        ["Retired", <Time key="retired" at={machine.retiredAt} past />],
        at === null ? undefined : ["Can leave", <Time key="leaves" at={at} />],
      ]}
      asks="one transaction. The stake comes into your ledger; from there you withdraw it."
    >
      <div className="line">
        <button
          type="button"
          className="button primary"
          disabled={doing.busy || problem !== null}
          onClick={() => act("taking the stake back", (hands) => takeStake(hands, machine.id))}
        >
          Take {exact(machine.stake, pool.money)} back
        </button>
        <WhyNot problem={problem} />
      </div>
      <DoingView doing={doing} chain={chain} />
    </DeedPanel>
  );
}
