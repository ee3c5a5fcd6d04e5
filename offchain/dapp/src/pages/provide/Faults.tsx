import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Fault } from "../../api/machines";
import type { Token } from "../../api/types";
import { appealDeed, readCompanions, readFault, readFunds, readProviderRules } from "../../chain";
import { exact, formatDuration, inWords } from "../../format";
import { appeal, appealObstacle } from "../../providing";
import { DataTable } from "../../ui/DataTable";
import { DeedPanel } from "../../ui/DeedPanel";
import { Empty } from "../../ui/Empty";
import { Money } from "../../ui/Money";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Time } from "../../ui/Time";
import { useNow } from "../../ui/useNow";
import { type Account, DoingView, typedDataSigner, useDoing } from "../../wallet";
import { WhyNot } from "./WhyNot";

interface Props {
  readonly faults: readonly Fault[];
  readonly token: Token | undefined;
  /** Whose they are, where that account's wallet is connected: it may appeal. */
  readonly account: Account | null;
  readonly onDone: () => Promise<unknown>;
}

/** Outages and other faults: what they cost, until when something can be said against them, and the way to say it. */
export function Faults({ faults, token, account, onDone }: Props) {
  const [chosen, setChosen] = useState<number | null>(null);
  const fault = faults.find((known) => known.fault === chosen);
  return (
    <section className="rows" aria-label="Faults">
      <h2>Faults and appeals</h2>
      {faults.length === 0 ? (
        <Empty says="No machine of this account was ever at fault." />
      ) : (
        <DataTable
          caption="Faults"
          rows={faults}
          rowKey={({ fault }) => fault}
          columns={[
            { name: "Fault", cell: ({ fault, kind }) => `${fault}, ${inWords(kind)}` },
            { name: "Machine", numeric: true, cell: ({ machine }) => machine },
            { name: "State", cell: ({ state }) => inWords(state) },
            { name: "Began", cell: ({ from }) => <Time at={from} past /> },
            {
              name: "Lasted",
              numeric: true,
              cell: ({ from, to }) => (to === null ? "still" : formatDuration(to - from)),
            },
            { name: "Slash", numeric: true, cell: ({ amount }) => <Money amount={amount} token={token} /> },
            { name: "What comes next", cell: (row) => <Next fault={row} /> },
            ...(account
              ? [
                  {
                    name: "Appeal",
                    cell: ({ fault, state }: Fault) =>
                      state === "filed" ? (
                        <button type="button" className="button little" onClick={() => setChosen(fault)}>
                          Appeal fault {fault}
                        </button>
                      ) : (
                        "–"
                      ),
                  },
                ]
              : []),
          ]}
        />
      )}
      {account && fault && <Appeal key={fault.fault} account={account} fault={fault.fault} onDone={onDone} />}
    </section>
  );
}

/** The deadline in the words of the state in which it runs. */
function Next({ fault: { state, deadline, to } }: { fault: Fault }) {
  const at = deadline === null ? null : <Time at={deadline} />;
  if (state === "running") return to === null ? "nothing before it ends" : "nothing";
  if (at === null) return "nothing";
  if (state === "filed") return <>the time to appeal ends {at}; then the stake is taken</>;
  if (state === "appealed") return <>the time to rule ends {at}; silence lets it stand</>;
  if (state === "upheld") return <>tenants are heard, and the stake is taken {at}</>;
  return "nothing";
}

function Appeal({ account, fault: id, onDone }: { account: Account; fault: number; onDone: () => Promise<unknown> }) {
  const { chain, pool, sender } = account;
  const now = useNow();
  const { doing, run } = useDoing();
  const found = useQuery({
    queryKey: ["onchain", "fault", pool.controller, id],
    queryFn: async () => {
      const [fault, { faults }, funds] = await Promise.all([
        readFault(chain, pool, id),
        readCompanions(chain, pool),
        readFunds(chain, pool, sender.account),
      ]);
      return { fault, faults, funds, rules: await readProviderRules(chain, pool, fault.rules) };
    },
  });
  if (found.error) return <ProblemView error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Skeleton rows={4} />;
  const { fault, faults, funds, rules } = found.data;
  const problem = appealObstacle(fault, rules, now);
  const lacks = rules.bond > funds.ledger ? rules.bond - funds.ledger : 0n;
  const act = (): void =>
    void run("this appeal", async (tell) => {
      await appeal({ ...account, signTypedData: typedDataSigner(sender), tell }, fault, rules.bond);
      await Promise.all([found.refetch(), onDone()]);
    });
  return (
    <DeedPanel
      title={`Appeal fault ${id}`}
      words={appealDeed(pool, faults, fault, rules.bond).words}
      facts={[
        ["At stake", <Money key="amount" amount={fault.amount} token={pool.money} places="exact" />],
        ["The bond", <Money key="bond" amount={rules.bond} token={pool.money} places="exact" />],
        ["Comes back", "the bond, where the arbiter takes the fault back or says nothing in time"],
        ["The arbiter rules", `within ${formatDuration(rules.rulingWindow)} of the appeal`],
        ["The time to appeal ends", <Time key="deadline" at={fault.deadline} />],
      ]}
      asks={
        lacks > 0n
          ? `a signature that lets the pool take ${exact(lacks, pool.money)} from your wallet, and two transactions: that goes into your ledger, then the appeal.`
          : "one transaction."
      }
    >
      <div className="line">
        <button type="button" className="button primary" disabled={doing.busy || problem !== null} onClick={act}>
          Appeal with a bond of {exact(rules.bond, pool.money)}
        </button>
        <WhyNot problem={problem} />
      </div>
      <DoingView doing={doing} chain={chain} />
    </DeedPanel>
  );
}
