import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { gateway } from "../../api/gateway";
import { useLive } from "../../api/live";
import { useMachinesOf } from "../../api/queries";
import type { Part } from "../../api/types";
import { parseLease } from "../../chain";
import { closeCall, extendCall, type Group, type Place } from "../../groups";
import { Time } from "../../ui/Time";
import { type Account, DoingView } from "../../wallet";
import { LeasedShare } from "../leases/LeasedShare";
import { useProposing } from "./useProposing";

interface LiveLease {
  readonly id: string;
  readonly machine: number;
  readonly cells: number;
  readonly end: number;
}

const HOUR = 3_600;

interface Props {
  readonly account: Account;
  readonly place: Place;
  readonly group: Group;
  readonly signs: boolean;
}

/** The group's leases that run, and what can be proposed of each. */
export function GroupLeases({ account, place, group, signs }: Props) {
  const { pool, chain } = account;
  useLive([`leases:${group.account}`]);
  const leases = useQuery({
    queryKey: ["leases", group.account],
    queryFn: ({ signal }) =>
      gateway.get<Part<LiveLease>>("leases", { tenant: group.account, state: "live", limit: 50 }, signal),
  });
  const { doing, start } = useProposing(account, place, group);
  const running = leases.data?.items ?? [];
  const machines = useMachinesOf(running.map(({ machine }) => machine));
  if (running.length === 0) return null;
  return (
    <section className="panel rows" aria-labelledby="group-leases">
      <h2 id="group-leases">Its leases</h2>
      <ul className="signers">
        {running.map(({ id, machine, cells, end }) => (
          <li key={id}>
            <span>
              <Link to={`/leases/${id}`}>Lease {id}</Link>:{" "}
              <LeasedShare cells={cells} number={machine} machine={machines.get(machine)} />, ends <Time at={end} />
            </span>
            {signs && (
              <span className="line">
                <button
                  type="button"
                  className="button little"
                  disabled={doing.busy}
                  onClick={() => start([extendCall(pool, parseLease(id), HOUR)])}
                >
                  Propose 1h more of lease {id}
                </button>
                <button
                  type="button"
                  className="button little"
                  disabled={doing.busy}
                  onClick={() => start([closeCall(pool, parseLease(id))])}
                >
                  Propose to close lease {id}
                </button>
              </span>
            )}
          </li>
        ))}
      </ul>
      <DoingView doing={doing} chain={chain} />
    </section>
  );
}
