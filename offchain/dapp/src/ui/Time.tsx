import { formatAbsolute, formatRelative } from "../format";
import { useNow } from "./useNow";

/** A moment, in unix seconds: how long ago or ahead, and on hover when in the reader's zone, which is not worked out before. */
export function Time({ at }: { at: number }) {
  const now = useNow();
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
