import { formatAbsolute, formatRelative, isTime } from "../format";
import { useNow } from "./useNow";

/** A moment, in unix seconds: how long ago or ahead, and on hover when in the reader's zone, which is not worked out before. What
 * no calendar has has words in place of a date. */
export function Time({ at }: { at: number }) {
  const now = useNow();
  if (!isTime(at)) return formatAbsolute(at);
  return (
    <time
      dateTime={new Date(at * 1000).toISOString()}
      className="nowrap"
      onPointerEnter={({ currentTarget }) => {
        currentTarget.title = formatAbsolute(at);
      }}
    >
      {formatRelative(at, now)}
    </time>
  );
}
