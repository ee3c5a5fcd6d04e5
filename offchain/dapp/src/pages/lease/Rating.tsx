import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { rateDeed, readRated, send } from "../../chain";
import { ProblemView } from "../../ui/ProblemView";
import { type Account, DoingView, useDoing } from "../../wallet";

const STARS = [1, 2, 3, 4, 5];

/** One rating of a lease that has ended and was paid. */
export function Rating({ account, lease }: { account: Account; lease: bigint }) {
  const { pool, chain, sender } = account;
  const [stars, setStars] = useState(0);
  const { doing, run } = useDoing();
  const standing = useQuery({
    queryKey: ["onchain", "rated", pool.controller, String(lease)],
    queryFn: () => readRated(chain, pool, lease),
  });
  if (standing.error) return <ProblemView error={standing.error} onRetry={() => void standing.refetch()} />;
  if (!standing.data) return null;
  const { reputation, rated } = standing.data;
  if (rated) return <p>You have rated this lease.</p>;
  const rate = (): void =>
    void run("this rating", async (tell) => {
      const deed = rateDeed(reputation, lease, stars);
      await send(deed, sender, chain, (stage) => tell(deed.words, stage), pool.money);
      await standing.refetch();
    });
  return (
    <div className="rows">
      <fieldset className="line bare">
        <legend className="small">How was it? Everybody sees the rating, for good.</legend>
        {STARS.map((count) => (
          <button
            key={count}
            type="button"
            className="chip"
            aria-pressed={count === stars}
            onClick={() => setStars(count)}
          >
            {count} {count === 1 ? "star" : "stars"}
          </button>
        ))}
      </fieldset>
      <div className="line">
        <button type="button" className="button" disabled={doing.busy || stars === 0} onClick={rate}>
          {stars ? `Rate it with ${stars} of 5 stars` : "Rate it"}
        </button>
      </div>
      <DoingView doing={doing} chain={chain} />
    </div>
  );
}
