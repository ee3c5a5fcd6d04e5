import { useQuery } from "@tanstack/react-query";
import { gateway } from "../../api/gateway";
import { Problem } from "../../problem";

const AGAIN = 30_000;

/** Asks the machine's agent, by way of the gateway, for a sign of life. `undefined` while nobody knows, as where a gateway
 * carries no calls. What the agent signs is not looked at here: what costs is asked of it again before money moves. */
export function useAgentAnswers(machine: number): { answers: boolean | undefined; ask: () => void; asking: boolean } {
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ["agent", machine],
    queryFn: ({ signal }) => gateway.get<object>(`agents/${machine}/v1/machines/${machine}/heartbeat`, {}, signal),
    retry: false,
    refetchInterval: AGAIN,
  });
  const silent = error instanceof Problem && error.code === "agent-silent";
  const answers = silent ? false : data === undefined ? undefined : true;
  return { answers, ask: () => void refetch(), asking: isFetching };
}

/** Says that nothing can be started on a machine whose agent does not answer; nothing where it does. */
export function SilentAgent({ machine }: { machine: number }) {
  const { answers, ask, asking } = useAgentAnswers(machine);
  if (answers !== false) return null;
  return (
    <div className="notice warning" role="status">
      <p>
        <strong>Its agent does not answer.</strong> Nothing can be started on this machine until it does, so no lease is
        opened and nothing is paid.
      </p>
      <button type="button" className="button little" disabled={asking} onClick={ask}>
        {asking ? "Asking it" : "Ask it again"}
      </button>
    </div>
  );
}
