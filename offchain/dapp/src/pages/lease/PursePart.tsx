import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { gateway, isAlone } from "../../api/gateway";
import { signIn } from "../../api/signIn";
import { formatLease, type Lease } from "../../chain";
import { exact, formatAbsolute, formatDuration } from "../../format";
import { readPlace } from "../../groups";
import { Problem } from "../../problem";
import { askOffer, type FoundPurse, findPurses, keepLease, takeBack, wishOf } from "../../purse";
import { ProblemView } from "../../ui/ProblemView";
import { type Account, DoingView, textSigner, typedDataSigner, useDoing } from "../../wallet";

const HOUR = 3_600;
const STEPS = [HOUR, 4 * HOUR, 8 * HOUR, 24 * HOUR];
const COUNTS = [1, 2, 3, 4, 6, 8, 12, 24, 48];

/** What a gateway says that it holds for the lease: not believed where money is concerned. */
interface Held {
  readonly account: string;
  readonly made: number;
  readonly count: number;
  readonly seconds: number;
  readonly trouble: string | null;
}

/** Kept by the gateway out of a sum that is put aside for this lease alone. */
export default function PursePart({ account, lease, live }: { account: Account; lease: Lease; live: boolean }) {
  const { chain, pool, sender } = account;
  const shown = formatLease(lease.id);
  const found = useQuery({
    queryKey: ["lease", shown, "purses", pool.controller, sender.account, lease.end],
    queryFn: async () => await findPurses(chain, await readPlace(chain, pool), sender.account, lease.id),
  });
  const held = useQuery({
    queryKey: ["lease", shown, "purse", lease.end],
    queryFn: async () => await askHeld(shown),
    enabled: !isAlone(),
    retry: false,
  });
  const looked = async (): Promise<void> => void (await Promise.all([found.refetch(), held.refetch()]));
  const aside = found.data ?? [];
  if (!live && aside.length === 0) return null;
  return (
    <details className="more" open={aside.length > 0}>
      <summary>Keep it going, out of a sum put aside</summary>
      <div className="rows">
        {found.error && <ProblemView error={found.error} onRetry={() => void found.refetch()} />}
        {aside.map((purse) => (
          <Aside key={purse.group.account} {...{ account, lease, purse, looked }} held={held.data ?? null} />
        ))}
        {live && found.data && aside.length === 0 && <Keep account={account} lease={lease} onDone={looked} />}
      </div>
    </details>
  );
}

async function askHeld(lease: string): Promise<Held | null> {
  return await gateway.get<Held>(`leases/${lease}/purse`).catch((error: unknown) => {
    if (error instanceof Problem && ["not-here", "not-served"].includes(error.code)) return null;
    throw error;
  });
}

function Keep({ account, lease, onDone }: { account: Account; lease: Lease; onDone: () => Promise<void> }) {
  const { chain, pool, sender } = account;
  const [seconds, setSeconds] = useState(HOUR);
  const [count, setCount] = useState(3);
  const { doing, run } = useDoing();
  const offer = useQuery({ queryKey: ["purses"], queryFn: askOffer, enabled: !isAlone() });
  if (isAlone() || offer.data === null) {
    return <p>This takes a gateway that extends leases, and none is asked here. A guard of your own does it below.</p>;
  }
  if (offer.error) return <ProblemView error={offer.error} onRetry={() => void offer.refetch()} />;
  if (!offer.data) return null;
  const wish = wishOf(lease, offer.data, seconds, count);
  const fees = exact(wish.fee * BigInt(count), pool.money);
  const act = (): void =>
    void run("putting it aside", async (tell) => {
      const signTypedData = typedDataSigner(sender);
      const signedIn = async (): Promise<void> => await signIn(sender.account, textSigner(sender));
      await keepLease({ chain, pool, sender, signTypedData, tell, signIn: signedIn }, lease, wish);
      await onDone();
    });
  return (
    <>
      <p>
        You put a sum aside, in an account that belongs to this lease alone. Shortly before each end the gateway extends
        the lease out of it by one step. When the lease is over, what is left comes back into your ledger by itself.
      </p>
      <p>
        No more than that sum can be spent, whatever the gateway does, and only on extending this lease and on its fees:
        it gets signatures for just that, and no key. It could send them earlier than needed: then the money is in the
        lease's escrow, and closing the lease brings back what is unused. It could send none: then the lease ends as it
        would now. Take the money back before you hand the lease over to somebody else.
      </p>
      <div className="line fields">
        <Choice id="step" label="Longer by" of={STEPS} value={seconds} onChange={setSeconds} shown={formatDuration} />
        <Choice
          id="times"
          label="Up to so many times"
          of={COUNTS.filter((number) => number <= (offer.data?.most ?? 0))}
          value={count}
          onChange={setCount}
          shown={String}
        />
      </div>
      <p>
        Kept until {formatAbsolute(lease.end + count * seconds)} at the latest, {exact(wish.most, pool.money)} and a fee
        of {exact(wish.fee, pool.money)} each time: {exact(wish.whole, pool.money)} in all, of which {fees} are fees.
      </p>
      <div className="line">
        <button type="button" className="button" disabled={doing.busy} onClick={act}>
          Put {exact(wish.whole, pool.money)} aside for this lease
        </button>
      </div>
      <DoingView doing={doing} chain={chain} />
    </>
  );
}

interface ChoiceProps {
  readonly id: string;
  readonly label: string;
  readonly of: readonly number[];
  readonly value: number;
  readonly onChange: (value: number) => void;
  readonly shown: (value: number) => string;
}

function Choice({ id, label, of, value, onChange, shown }: ChoiceProps) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} className="input" value={value} onChange={(event) => onChange(Number(event.target.value))}>
        {of.map((number) => (
          <option key={number} value={number}>
            {shown(number)}
          </option>
        ))}
      </select>
    </div>
  );
}

interface AsideProps {
  readonly account: Account;
  readonly lease: Lease;
  readonly purse: FoundPurse;
  readonly held: Held | null;
  readonly looked: () => Promise<void>;
}

/** What lies aside by the chain's word, what the gateway says of it, and the way back that takes no gateway. */
function Aside({ account, lease, purse, held, looked }: AsideProps) {
  const { chain, pool, sender } = account;
  const { doing, run } = useDoing();
  const known = held?.account === purse.group.account ? held : null;
  const act = (): void =>
    void run("taking it back", async (tell) => {
      await takeBack({ chain, pool, sender, signTypedData: typedDataSigner(sender), tell }, lease.id, purse);
      await looked();
    });
  return (
    <>
      <p>
        {exact(purse.holds, pool.money)} lie aside for this lease.
        {known &&
          ` The gateway extends it by ${formatDuration(known.seconds)} before each end, ${known.count - known.made} more times at most.`}
        {!known && " This gateway extends it no more, or never did."}
      </p>
      {known?.trouble && <p className="notice warning">It could not be extended: {known.trouble}</p>}
      <div className="line">
        <button type="button" className="button" disabled={doing.busy} onClick={act}>
          Take {exact(purse.holds, pool.money)} back
        </button>
        <p className="small soft">Your wallet signs once and sends one transaction; then it is extended no more.</p>
      </div>
      <DoingView doing={doing} chain={chain} />
    </>
  );
}
