import { hasTerm, toggleTerm } from "../../search/terms";
import type { MarketUrl } from "./useMarketUrl";

/** Terms that are often wanted, and what they are called. */
const QUICK = [
  ["Free now", "state:free"],
  ["Verified", "verified:yes"],
  ["24 GB and more", "mem>=24"],
  ["80 GB and more", "mem>=80"],
  ["By the eighth", "smallest=1"],
  ["Up 99 %", "uptime>=99"],
  ["In the EU", "country:DE,FR,NL,SE,FI,PL,ES,IT,AT,BE,CZ,DK,IE,PT,RO"],
] as const;

const ORDERS = [
  ["price", "Cheapest first"],
  ["-mem", "Most memory first"],
  ["-cells", "Most free first"],
  ["-score", "Best score first"],
  ["-stars", "Best rated first"],
  ["-uptime", "Most reliable first"],
] as const;

interface Props {
  readonly url: MarketUrl;
  /** How many machines match, in words. */
  readonly count: string;
  readonly prices: boolean;
  readonly onPrices: (shown: boolean) => void;
}

/** Filters that a click puts into the search, the order, how machines are shown, and how many there are. */
export function MarketBar({ url, count, prices, onPrices }: Props) {
  const known = ORDERS.some(([order]) => order === url.sort);
  return (
    <div className="market-bar">
      <fieldset className="line bare">
        <legend className="unseen">Quick filters</legend>
        {QUICK.map(([name, term]) => (
          <button
            key={term}
            type="button"
            className="chip"
            title={term}
            aria-pressed={hasTerm(url.q, term)}
            onClick={() => url.set({ q: toggleTerm(url.q, term) })}
          >
            {name}
          </button>
        ))}
      </fieldset>
      <div className="line">
        <span role="status" className="numbers small soft">
          {count}
        </span>
        <select
          className="input"
          aria-label="Order"
          value={url.sort}
          onChange={(event) => url.set({ sort: event.target.value })}
        >
          {!known && <option value={url.sort}>By {url.sort.replace(/^-/, "")}</option>}
          {ORDERS.map(([order, name]) => (
            <option key={order} value={order}>
              {name}
            </option>
          ))}
        </select>
        <button
          type="button"
          className="button little view-switch"
          aria-pressed={url.view === "cards"}
          onClick={() => url.set({ view: url.view === "cards" ? "table" : "cards" })}
        >
          {url.view === "cards" ? "As a table" : "As cards"}
        </button>
        <button type="button" className="button little" aria-expanded={prices} onClick={() => onPrices(!prices)}>
          Prices
        </button>
      </div>
    </div>
  );
}
