import { useId, useState } from "react";
import { changesOf, type OwnMachine, termsDeed, termsObstacle } from "../../chain";
import { setTerms } from "../../providing";
import { DataTable } from "../../ui/DataTable";
import { DeedPanel } from "../../ui/DeedPanel";
import { type Account, DoingView, typedDataSigner, useDoing } from "../../wallet";
import { draftOf, isRead, readDraft, type TermsDraft } from "./termsDraft";
import { WhyNot } from "./WhyNot";

interface Props {
  readonly account: Account;
  readonly machine: OwnMachine;
  /** The version of the pool's rules that is in force: whoever sets terms accepts it. */
  readonly rules: number;
  /** By the chain's head, where that is ahead of this clock. */
  readonly now: number;
  readonly onDone: () => Promise<unknown>;
}

/** What the machine asks for, what would change of that, and the one button. */
export function TermsEditor({ account, machine, rules, now, onDone }: Props) {
  const { pool, chain } = account;
  const { decimals } = pool.money;
  const [draft, setDraft] = useState<TermsDraft>(() => draftOf(machine.terms, decimals));
  const { doing, run } = useDoing();
  const read = readDraft(draft, decimals);
  const terms = isRead(read) ? read : null;
  const unread = isRead(read) ? [] : read;
  const changes = terms ? changesOf(machine.terms, terms, pool.money) : [];
  const accepts = rules !== machine.params;
  const problem = terms ? termsObstacle(terms, now) : null;
  const act = (): void => {
    if (!terms) return;
    void run("these terms", async (tell) => {
      const hands = { ...account, signTypedData: typedDataSigner(account.sender), tell };
      await setTerms(hands, { machine, terms, accepts: rules });
      await onDone();
    });
  };
  const nothing = changes.length === 0 && !accepts;
  return (
    <DeedPanel
      title="What it asks for"
      words={terms && !nothing ? termsDeed(pool, machine, terms).words : "Nothing is changed yet."}
      facts={[
        ["Leases that run", "keep the terms under which they were opened"],
        [
          "Rules accepted",
          accepts ? `version ${rules}; you have accepted version ${machine.params}` : `version ${rules}`,
        ],
        ["Costs", "gas alone"],
      ]}
      asks="one transaction, which sets the terms."
    >
      <Fields draft={draft} unread={unread} symbol={pool.money.symbol} onDraft={setDraft} />
      {changes.length > 0 && (
        <DataTable
          caption="What changes"
          rows={changes}
          rowKey={({ name }) => name}
          columns={[
            { name: "What changes", cell: ({ name }) => name },
            { name: "Now", cell: ({ before }) => before },
            { name: "Then", cell: ({ after }) => after },
          ]}
        />
      )}
      <div className="line">
        <button
          type="button"
          className="button primary"
          disabled={doing.busy || !terms || nothing || problem !== null}
          onClick={act}
        >
          {accepts && changes.length === 0 ? `Accept version ${rules} of the rules` : "Set these terms"}
        </button>
        {unread.length > 0 && (
          <p className="small">This cannot be read: {unread.map((name) => NAMES[name]).join(", ")}.</p>
        )}
        <WhyNot problem={problem} />
      </div>
      <DoingView doing={doing} chain={chain} />
    </DeedPanel>
  );
}

const NAMES: Readonly<Record<keyof TermsDraft, string>> = {
  price: "Price of a GPU-hour",
  spotPrice: "Spot price of a GPU-hour",
  minDuration: "Shortest lease",
  maxDuration: "Longest lease",
  trial: "Trial",
  until: "For rent until the end of",
};
const HINTS: Readonly<Partial<Record<keyof TermsDraft, string>>> = {
  spotPrice: "empty: no spot leases",
  minDuration: "such as 10m",
  maxDuration: "such as 30d",
  trial: "up to 15m; empty: none",
  until: "a day, in UTC",
};

interface FieldsProps {
  readonly draft: TermsDraft;
  readonly unread: readonly (keyof TermsDraft)[];
  readonly symbol: string;
  readonly onDraft: (draft: TermsDraft) => void;
}

function Fields({ draft, unread, symbol, onDraft }: FieldsProps) {
  const id = useId();
  return (
    <div className="terms-fields">
      {(Object.keys(NAMES) as (keyof TermsDraft)[]).map((name) => (
        <div key={name} className="field">
          <label htmlFor={`${id}-${name}`}>
            {NAMES[name]}
            {name.toLowerCase().endsWith("price") && ` (${symbol})`}
          </label>
          <input
            id={`${id}-${name}`}
            className="input"
            type={name === "until" ? "date" : "text"}
            value={draft[name]}
            spellCheck={false}
            autoComplete="off"
            aria-invalid={unread.includes(name)}
            aria-describedby={HINTS[name] ? `${id}-${name}-hint` : undefined}
            onChange={(event) => onDraft({ ...draft, [name]: event.target.value })}
          />
          {HINTS[name] && (
            <p id={`${id}-${name}-hint`} className="small soft">
              {HINTS[name]}
            </p>
          )}
        </div>
      ))}
    </div>
  );
}
