import type { MachineItem } from "../../api/machines";
import { approval, type Pool, type Quote, refunds } from "../../chain";
import { exact, formatDuration } from "../../format";
import type { Group } from "../../groups";
import type { WorkloadFields } from "../../sealing";
import { BeforeWallet } from "../../ui/BeforeWallet";
import { Money } from "../../ui/Money";
import { perOf, shareIn } from "../market/words";

interface Props {
  readonly pool: Pool;
  readonly quote: Quote;
  /** What the machine sells, once that is known. */
  readonly kind: MachineItem["kind"] | undefined;
  readonly workload: WorkloadFields | null;
  readonly hasSession: boolean;
  /** Who rents, where it is not the wallet itself. */
  readonly group: Group | undefined;
  readonly hasResultsKey: boolean;
  readonly children: React.ReactNode;
}

/** Everything there is to know before the wallet opens, by the chain's own numbers. */
export function PricePanel({ pool, quote, kind, workload, hasSession, hasResultsKey, group, children }: Props) {
  const { money } = pool;
  const fee = (quote.deposit * BigInt(quote.feeBps)) / 10_000n;
  return (
    <BeforeWallet
      title={`Rent ${shareIn(quote.share, kind)} of machine ${quote.machine} for ${formatDuration(quote.duration)}`}
      gets={
        <>
          {shareIn(quote.share, kind)} of the machine, by the second, at{" "}
          <Money amount={quote.price} token={money} per={perOf(kind)} places="exact" />
          {workload && (
            <>
              , running <code className="break">{workload.image}</code>
            </>
          )}
        </>
      }
      locks={
        <>
          <Money amount={quote.deposit} token={money} places="exact" />:{" "}
          <Money amount={quote.fromLedger} token={money} places="exact" /> from{" "}
          {group ? "the group's ledger" : "your ledger"}
          {!group && (
            <>
              , <Money amount={quote.pulled} token={money} places="exact" /> from your wallet
            </>
          )}
        </>
      }
      perHour={<Money amount={quote.hourly} token={money} places="exact" />}
      inAll={
        <>
          <Money amount={quote.deposit} token={money} places="exact" /> at most. The pool's fee is in it:{" "}
          {quote.feeBps / 100} %, at most {exact(fee, money)}
        </>
      }
      comesBack={
        <dl className="refunds small">
          {refunds(quote, money).map(([when, what]) => (
            <div key={when}>
              <dt>{when}</dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
      }
      readers="The host's owner can read what runs on the host, files and memory. The gateway cannot: the workload is sealed to the machine's key."
      transactions={
        group
          ? signatures(group, hasSession, workload, hasResultsKey)
          : windows(quote, pool, hasSession, workload, hasResultsKey)
      }
    >
      {children}
    </BeforeWallet>
  );
}

const SESSION = "a signature that lets this tab talk to the machine for a day (it moves no money)";

/** What it asks for where a group rents: nothing is sent. */
function signatures(
  group: Group,
  hasSession: boolean,
  workload: WorkloadFields | null,
  hasResultsKey: boolean,
): string {
  const own = `your signature of the proposal, which is one of the ${group.threshold} that it takes`;
  return `${[...(hasSession ? [] : [SESSION]), ...resultsSigned(workload, hasResultsKey), own].join("; ")}. Nothing is sent yet.`;
}

/** What the wallet will ask for, in its order. */
function windows(
  quote: Quote,
  pool: Pool,
  hasSession: boolean,
  workload: WorkloadFields | null,
  hasResultsKey: boolean,
): string {
  const volumes = workload?.volumes?.length ?? 0;
  const asked = [
    ...(hasSession ? [] : [SESSION]),
    ...(volumes
      ? [`${volumes === 1 ? "a signature" : `${volumes} signatures`} of which the keys of your volumes are made`]
      : []),
    ...resultsSigned(workload, hasResultsKey),
    ...(quote.approve ? [`a signature: ${approval(quote.pulled, pool.money).slice(0, -1)}`] : []),
    "one transaction, which opens the lease",
  ];
  return `${asked.join("; ")}.`;
}

/** Something comes back that only this account may read, and there is no key for it yet. */
function resultsSigned(workload: WorkloadFields | null, hasResultsKey: boolean): string[] {
  const sealed = (workload?.outputs ?? []).some((output) => !output.public);
  return sealed && !hasResultsKey ? ["a signature of which the key of your results is made (it moves no money)"] : [];
}
