import { useLive, useLiveState } from "../api/live";
import { usePool } from "../api/queries";
import { formatCount } from "../format";
import { Time } from "../ui/Time";

/** The newest block that the gateway speaks of, how old it is, and whether news come by themselves. A chain's clock may
 * go before the reader's: such a block is new. */
export function HeadOfChain() {
  useLive(["block"]);
  const pool = usePool();
  const state = useLiveState();
  const block = state.block ?? pool.data?.block;
  if (block === undefined) return null;
  return (
    <span className="head-of-chain small soft numbers">
      <span className={`live-mark ${state.link}`} aria-hidden="true" />
      <span>
        {LINKS[state.link]}, block {formatCount(block.number)},{" "}
      </span>
      <Time at={block.time} past />
    </span>
  );
}

const LINKS = { live: "Live", waiting: "Connecting", polling: "By asking again" } as const;
