import { useQueries } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import { useLive } from "../../api/live";
import type { MachineWhole } from "../../api/machines";
import { machineQuery, usePool } from "../../api/queries";
import { Page } from "../../app/Page";
import { Empty } from "../../ui/Empty";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { State } from "../../ui/State";
import { usePhone } from "../../ui/useMedia";
import { type CompareRow, comparison } from "./comparison";
import { machinesIn } from "./useMarketUrl";
import { nameOf } from "./words";
import "../../ui/table.css";
import "./compare.css";

/** Up to four machines beside each other. What is best in a row says so. */
export default function Compare() {
  const [params] = useSearchParams();
  const numbers = machinesIn(params.get("machines"));
  useLive(["machines"]);
  const answers = useQueries({ queries: numbers.map((number) => machineQuery(String(number))) });
  const token = usePool().data?.token;
  const machines = answers.flatMap((answer) => (answer.data === undefined ? [] : [answer.data]));
  const failed = answers.find((answer) => answer.error !== null);
  return (
    <Page title="Compare machines" command={numbers.map((number) => `leasehold machine ${number}`).join("; ")}>
      {numbers.length === 0 && (
        <Empty says="No machine is chosen. Choose up to four in the market.">
          <Link className="button primary" to="/">
            Find a machine
          </Link>
        </Empty>
      )}
      {failed !== undefined && <ProblemView error={failed.error} onRetry={() => void failed.refetch()} />}
      {answers.some((answer) => answer.isPending) && <Skeleton rows={10} />}
      {machines.length > 0 && <Beside machines={machines} rows={comparison(machines, token)} />}
    </Page>
  );
}

interface BesideProps {
  readonly machines: readonly MachineWhole[];
  readonly rows: readonly CompareRow[];
}

function Beside({ machines, rows }: BesideProps) {
  return usePhone() ? <Narrow machines={machines} rows={rows} /> : <Wide machines={machines} rows={rows} />;
}

function Wide({ machines, rows }: BesideProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must scroll by keyboard, too
    <section className="table-scroll" aria-label="Machines beside each other" tabIndex={0}>
      <table className="table compare">
        <thead>
          <tr>
            <td />
            <Heads machines={machines} />
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              <Cells machines={machines} row={row} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** All machines in a phone's width: a row's name stands above its values, and the machines' names stay in sight. */
function Narrow({ machines, rows }: BesideProps) {
  return (
    <section className="compare-narrow" aria-label="Machines beside each other">
      <table className="table compare">
        <thead>
          <tr>
            <Heads machines={machines} />
          </tr>
        </thead>
        {rows.map((row) => (
          <tbody key={row.name}>
            <tr className="compare-name">
              <th scope="rowgroup" colSpan={machines.length}>
                {row.name}
              </th>
            </tr>
            <tr>
              <Cells machines={machines} row={row} />
            </tr>
          </tbody>
        ))}
      </table>
    </section>
  );
}

function Heads({ machines }: Pick<BesideProps, "machines">) {
  return machines.map((machine) => (
    <th key={machine.id} scope="col">
      <Link to={`/machines/${machine.id}`}>{nameOf(machine)}</Link>
      <span className="soft"> {machine.id}</span>
    </th>
  ));
}

function Cells({ machines, row }: Pick<BesideProps, "machines"> & { readonly row: CompareRow }) {
  return row.cells.map((cell, place) => {
    const meaning = row.meanings?.[place];
    return (
      <td key={machines[place]?.id} className={row.best.has(place) ? "best" : undefined}>
        {meaning === undefined ? cell : <State is={meaning}>{cell}</State>}
        {row.best.has(place) && <span className="best-mark">best</span>}
      </td>
    );
  });
}
