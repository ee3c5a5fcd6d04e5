import { formatAbsolute, formatRelative } from "../format";
import { useNow } from "./useNow";

/** A moment, in unix seconds: how long ago or ahead, and on hover when in the reader's zone. */
export function Time({ at }: { at: number }) {
  const now = useNow();
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={formatAbsolute(at)} className="nowrap">
      {formatRelative(at, now)}
    </time>
  );
}
