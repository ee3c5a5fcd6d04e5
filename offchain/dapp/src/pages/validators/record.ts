/** What a seat said in the rounds for which it was drawn. Pure. */
import type { Round, Vote } from "../../api/pools";

export interface SeatInRound {
  readonly round: Round;
  readonly vote: Vote | undefined;
  /** In words. */
  readonly said: string;
}

/** Each round with the seat's vote. `votes`: by round; of those that are not there yet, nothing is claimed. */
export function recordOf(
  seat: number,
  rounds: readonly Round[],
  votes: ReadonlyMap<number, readonly Vote[]>,
): readonly SeatInRound[] {
  return rounds.map((round) => {
    const known = votes.get(round.round);
    const vote = known?.find((cast) => cast.seat === seat);
    return { round, vote, said: known === undefined ? "…" : inVote(round, vote) };
  });
}

const UNDER_WAY = new Set(["requested", "drawn"]);

function inVote(round: Round, vote: Vote | undefined): string {
  if (vote?.revealed) return vote.passed ? "it is what it says it is" : "it is something else";
  if (UNDER_WAY.has(round.state)) return vote ? "committed, not shown yet" : "nothing yet";
  return vote ? "committed, and never shown" : "nothing";
}
