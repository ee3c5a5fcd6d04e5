import type { Seat } from "../../api/pools";
import { State } from "../../ui/State";

/** Whether a seat judges, is about to leave, or has left. */
export function SeatState({ seat }: { seat: Seat }) {
  if (seat.exited) return <State is="plain">Gone</State>;
  return seat.leaves_at === null ? <State is="good">Serves</State> : <State is="waiting">Leaves</State>;
}
