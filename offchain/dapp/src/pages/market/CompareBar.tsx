import { Link } from "react-router";
import { type MarketUrl, MOST_COMPARED } from "./useMarketUrl";

/** What has been chosen to be compared, at the window's foot. */
export function CompareBar({ url }: { url: MarketUrl }) {
  const count = url.chosen.length;
  if (count === 0) return null;
  return (
    <section className="compare-bar" aria-label="To compare">
      <span role="status">
        {count} of {MOST_COMPARED} chosen
      </span>
      <button type="button" className="button quiet" onClick={url.clear}>
        Choose none
      </button>
      <Link className="button primary" to={`/compare?machines=${url.chosen.join()}`}>
        Compare {count} {count === 1 ? "machine" : "machines"}
      </Link>
    </section>
  );
}
