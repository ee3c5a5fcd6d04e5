import "./skeleton.css";

/** The place of what is being fetched. It shows itself after 200 ms: what comes sooner needs none. */
export function Skeleton({ rows }: { rows: number }) {
  return (
    <div className="skeleton" role="status">
      <span className="unseen">Loading</span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are alike and never move
        <span key={row} aria-hidden="true" />
      ))}
    </div>
  );
}
