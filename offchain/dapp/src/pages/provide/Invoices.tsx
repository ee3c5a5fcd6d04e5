import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { gateway } from "../../api/gateway";
import type { Token } from "../../api/types";
import { DataTable } from "../../ui/DataTable";
import { Empty } from "../../ui/Empty";
import { Money } from "../../ui/Money";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { type Invoice, invoiceCsv, invoicesOf, readMovements } from "./invoices";

const DAYS = 3_660;

interface Props {
  readonly provider: string;
  readonly token: Token;
}

/** What each month brought, lease by lease, on the page and as a table to keep. */
export function Invoices({ provider, token }: Props) {
  const [chosen, setChosen] = useState("");
  const found = useQuery({
    queryKey: ["machines", "invoices", provider, token.address],
    queryFn: async ({ signal }) =>
      invoicesOf(
        readMovements(await gateway.text(`providers/${provider}/earnings.csv`, { days: DAYS }, signal), token),
      ),
  });
  const month = found.data?.find((invoice) => invoice.month === chosen) ?? found.data?.[0];
  return (
    <section className="panel rows" aria-label="Invoices">
      <h2>Invoices by month</h2>
      {found.error ? (
        <ProblemView error={found.error} onRetry={() => void found.refetch()} />
      ) : found.data === undefined ? (
        <Skeleton rows={3} />
      ) : month === undefined ? (
        <Empty says="No lease has brought anything yet." />
      ) : (
        <>
          <div className="line">
            <select
              className="input"
              aria-label="Month"
              value={month.month}
              onChange={(event) => setChosen(event.target.value)}
            >
              {found.data.map((invoice) => (
                <option key={invoice.month}>{invoice.month}</option>
              ))}
            </select>
            <Save name={`${provider}-${month.month}.csv`} invoices={[month]} token={token}>
              Save this month as CSV
            </Save>
            <Save name={`${provider}.csv`} invoices={found.data} token={token}>
              Save all months by lease
            </Save>
          </div>
          <p>
            <Money amount={month.amount} token={token} /> in {month.month}, after the pool's fee, by{" "}
            {month.lines.length === 1 ? "one lease" : `${month.lines.length} leases`}
          </p>
          <DataTable
            caption={`What leases brought in ${month.month}`}
            rows={month.lines}
            rowKey={({ lease }) => lease}
            columns={[
              {
                name: "Lease",
                cell: ({ lease }) => (lease === "" ? "no lease" : <Link to={`/leases/${lease}`}>Lease {lease}</Link>),
              },
              { name: "Machine", numeric: true, cell: ({ machine }) => machine },
              { name: "Payments", numeric: true, cell: ({ movements }) => movements },
              {
                name: "Brought",
                numeric: true,
                cell: ({ amount }) => <Money amount={amount} token={token} />,
              },
            ]}
          />
        </>
      )}
    </section>
  );
}

interface SaveProps {
  readonly name: string;
  readonly invoices: readonly Invoice[];
  readonly token: Token;
  readonly children: string;
}

/** Hands the table to the browser as a file: nothing is asked of anybody. */
function Save({ name, invoices, token, children }: SaveProps) {
  const save = (): void => {
    const address = URL.createObjectURL(new Blob([invoiceCsv(invoices, token)], { type: "text/csv" }));
    const link = Object.assign(document.createElement("a"), { href: address, download: name });
    link.click();
    URL.revokeObjectURL(address);
  };
  return (
    <button type="button" className="button little" onClick={save}>
      {children}
    </button>
  );
}
