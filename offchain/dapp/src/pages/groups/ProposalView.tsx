import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { formatLease, send } from "../../chain";
import {
  bringSignature,
  type DecodedCall,
  decodeCall,
  executeDeed,
  type Gathered,
  linkOf,
  type Place,
  type ProposalStanding,
  refusalNow,
  routeOf,
  rows,
  sentence,
  signProposal,
  standingOf,
} from "../../groups";
import { Address } from "../../ui/Address";
import { Copy } from "../../ui/Copy";
import { ProblemView } from "../../ui/ProblemView";
import { Time } from "../../ui/Time";
import { type Account, DoingView, typedDataSigner, useDoing } from "../../wallet";
import { handSecretsOn } from "../rent/useRenting";
import { Signers } from "./Signers";

const LOOK_EVERY = 3_000;

interface Props {
  readonly account: Account;
  readonly place: Place;
  readonly gathered: Gathered;
  readonly onSigned: () => void;
}

/** What is signed, taken apart from the bytes that the wallet gets; a proposal that cannot be shown has no button. */
export function ProposalView({ account, place, gathered, onSigned }: Props) {
  const { proposal } = gathered;
  let calls: readonly DecodedCall[];
  try {
    calls = proposal.execution.calls.map((call) => decodeCall(call, place));
  } catch (error) {
    return <ProblemView error={error} />;
  }
  return (
    <>
      <What account={account} gathered={gathered} calls={calls} />
      <Signing account={account} place={place} gathered={gathered} onSigned={onSigned} />
    </>
  );
}

function What({ account, gathered, calls }: { account: Account; gathered: Gathered; calls: readonly DecodedCall[] }) {
  const { group, execution } = gathered.proposal;
  const { money } = account.pool;
  return (
    <section className="panel rows" aria-labelledby="what">
      <h2 id="what">What is signed</h2>
      <ol className="what">
        {calls.map((call, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: calls are what their places are
          <li key={at}>{sentence(call, money)}</li>
        ))}
      </ol>
      <p>
        <Link to={routeOf(group)}>{group.safe ? "The Safe" : "The group"}</Link> <Address address={group.account} />{" "}
        does this and nothing else, at once and whole. It can be signed and carried out up to its end,{" "}
        <Time at={Number(execution.deadline)} />.
      </p>
      {opens(calls) && (
        <p className="small soft">
          What runs there is sealed to the machine: the workload's digest stands below, and for the rest you take the
          word of whoever proposed it.
        </p>
      )}
      <details>
        <summary>Every value that is signed</summary>
        <dl className="exactly">
          {calls
            .flatMap((call) => rows(call, money))
            .map(([name, value], at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows are what their places are
              <div key={at}>
                <dt className="small">{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          <div>
            <dt className="small">nonce</dt>
            <dd>{String(execution.nonce)}</dd>
          </div>
          <div>
            <dt className="small">digest</dt>
            <dd>{gathered.proposal.digest}</dd>
          </div>
        </dl>
      </details>
    </section>
  );
}

function opens(calls: readonly DecodedCall[]): boolean {
  return calls.some(({ name, inner }) => name === "open" || name === "openWithOffer" || opens(inner));
}

function Signing({ account, place, gathered, onSigned }: Props) {
  const { chain, sender, pool } = account;
  const { proposal, signatures } = gathered;
  const { group } = proposal;
  const { doing, run } = useDoing();
  const standing = useQuery({
    queryKey: ["onchain", "proposal", proposal.digest],
    queryFn: async () => {
      const now = await standingOf(chain, place, proposal);
      if (now.kind === "done") for (const lease of now.leases) handSecretsOn(proposal.digest, formatLease(lease));
      return now;
    },
    refetchInterval: LOOK_EVERY,
  });
  const refusal = useQuery({
    queryKey: ["onchain", "refusal", proposal.digest],
    queryFn: () => refusalNow(chain, place, proposal),
    enabled: standing.data?.kind === "open",
  });
  const enough = signatures.size >= group.threshold;
  const mayStill = group.signers.includes(sender.account) && !signatures.has(sender.account);
  const sign = (): void =>
    void run("signing", async (tell) => {
      tell("Sign it in your wallet");
      const proof = await signProposal(place, proposal, typedDataSigner(sender));
      await bringSignature(proposal, sender.account, proof);
      onSigned();
    });
  const carryOut = (): void =>
    void run("carrying it out", async (tell) => {
      const deed = executeDeed(place, proposal, signatures);
      await send(deed, sender, chain, (stage) => tell("Carrying it out", stage), pool.money);
      await standing.refetch();
    });
  const open = standing.data?.kind === "open";
  return (
    <section className="panel rows" aria-labelledby="who">
      <h2 id="who">Who has signed</h2>
      <Signers group={group} signatures={signatures} own={sender.account} />
      {standing.data && !open && <Outcome standing={standing.data} />}
      {open && refusal.data && <ProblemView error={refusal.data} />}
      {open && (
        <div className="line">
          {mayStill && (
            <button type="button" className={enough ? "button" : "button primary"} disabled={doing.busy} onClick={sign}>
              Sign this with your wallet
            </button>
          )}
          {enough && (
            <button type="button" className="button primary" disabled={doing.busy} onClick={carryOut}>
              Carry it out
            </button>
          )}
          <Copy text={linkOf(group, proposal.digest)} what="the link to this, for the others" says="Copy the link" />
        </div>
      )}
      {open && (
        <p className="small soft">
          {enough
            ? "Enough have signed. Whoever carries it out sends one transaction and pays its gas; it need not be a signer."
            : group.safe
              ? "Your wallet shows a message of the Safe: the digest above. It moves nothing until enough have signed."
              : "Your wallet shows the same calls as bytes. It moves nothing until enough have signed."}
        </p>
      )}
      <DoingView doing={doing} chain={chain} />
    </section>
  );
}

function Outcome({ standing }: { standing: ProposalStanding }) {
  if (standing.kind !== "done") {
    return (
      <p className="notice">
        {standing.kind === "over"
          ? "It is too late: its time is over. Propose it again."
          : "Its number has been used already, by another proposal in its place or in a way that cannot be read here."}
      </p>
    );
  }
  return (
    <div className="notice" role="status">
      <h2>It was carried out.</h2>
      <p className="small">
        Transaction <code className="break">{standing.transaction}</code>
      </p>
      {standing.leases.map((lease) => (
        <Link key={String(lease)} className="button primary" to={`/leases/${formatLease(lease)}`}>
          Go to lease {formatLease(lease)}
        </Link>
      ))}
    </div>
  );
}
