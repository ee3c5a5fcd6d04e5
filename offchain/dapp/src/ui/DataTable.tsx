import type { ReactNode } from "react";
import { usePhone } from "./useMedia";
import "./table.css";

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ReactNode;
  readonly numeric?: boolean;
  /** The order that its head asks for first, where it can be sorted: a field, with `-` before it for the largest first. */
  readonly sort?: string;
}

interface Props<Row> {
  /** What the table holds, for who does not see it. */
  readonly caption: string;
  /** The first names the row: on a phone it is the card's heading. */
  readonly columns: readonly [Column<Row>, ...Column<Row>[]];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string | number;
  /** The field by which rows are sorted, with `-` before it for the largest first. */
  readonly sort?: string;
  readonly onSort?: (sort: string) => void;
  /** Rows that have just changed: they are lit for a moment. */
  readonly changed?: ReadonlySet<string | number>;
}

/** Rows as a table; on a phone as cards, whose heading is the first column. */
export function DataTable<Row>(props: Props<Row>) {
  return usePhone() ? <Cards {...props} /> : <Wide {...props} />;
}

function Wide<Row>({ caption, columns, rows, rowKey, sort, onSort, changed }: Props<Row>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must scroll by keyboard, too
    <section className="table-scroll" aria-label={`${caption}, as a table`} tabIndex={0}>
      <table className="table">
        <caption className="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.name} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} className={changed?.has(rowKey(row)) ? "changed" : undefined}>
              {columns.map((column) => (
                <td key={column.name} className={column.numeric ? "numeric" : undefined}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface HeadProps<Row> {
  readonly column: Column<Row>;
  readonly sort: string | undefined;
  readonly onSort: ((sort: string) => void) | undefined;
}

function Head<Row>({ column, sort, onSort }: HeadProps<Row>) {
  const numeric = column.numeric ? "numeric" : undefined;
  const by = column.sort;
  if (by === undefined || onSort === undefined) {
    return (
      <th scope="col" className={numeric}>
        {column.name}
      </th>
    );
  }
  const sorted = sort?.replace(/^-/, "") === by.replace(/^-/, "") ? sort : undefined;
  const direction = sorted === undefined ? undefined : sorted.startsWith("-") ? "descending" : "ascending";
  return (
    <th scope="col" className={numeric} aria-sort={direction}>
      <button type="button" onClick={() => onSort(sorted === undefined ? by : turned(sorted))}>
        {column.name}
        <span aria-hidden="true">{direction === undefined ? "" : direction === "ascending" ? " ↑" : " ↓"}</span>
      </button>
    </th>
  );
}

function turned(sort: string): string {
  return sort.startsWith("-") ? sort.slice(1) : `-${sort}`;
}

function Cards<Row>({ caption, columns, rows, rowKey, changed }: Props<Row>) {
  const [first, ...rest] = columns;
  return (
    <ul className="cards" aria-label={caption}>
      {rows.map((row) => (
        <li key={rowKey(row)} className={changed?.has(rowKey(row)) ? "card changed" : "card"}>
          <div className="card-head">{first.cell(row)}</div>
          <dl>
            {rest.map((column) => (
              <div key={column.name}>
                <dt>{column.name}</dt>
                <dd>{column.cell(row)}</dd>
              </div>
            ))}
          </dl>
        </li>
      ))}
    </ul>
  );
}
