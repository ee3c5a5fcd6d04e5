import { formatAbsolute, formatRelative, isTime } from "../format";
import { useNow } from "./useNow";

interface Props {
  /** Unix seconds. */
  readonly at: number;
  /** Whether it has happened: it is never shown as to come, though the clock that told of it may go before this one. */
  readonly past?: boolean;
}

/** A moment: how long ago or ahead, and on hover when in the reader's zone, which is not worked out before. What
 * no calendar has has words in place of a date. */
export function Time({ at, past = false }: Props) {
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
      {formatRelative(past ? Math.min(at, now) : at, now)}
    </time>
  );
}
