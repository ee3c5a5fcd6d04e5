import { useQuery } from "@tanstack/react-query";
import type { AgentClient, LeaseReading } from "../../agent";
import { formatSize } from "../../format";
import { Empty } from "../../ui/Empty";
import { Facts } from "../../ui/Facts";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Time } from "../../ui/Time";

/** What the lease uses now: the newest of its readings, and how busy its processors were since the one before. */
export default function Metrics({ agent, lease }: { agent: AgentClient; lease: bigint }) {
  const metrics = useQuery({
    queryKey: ["agent", "metrics", agent.way.machine, String(lease)],
    queryFn: ({ signal }) => agent.metrics(lease, signal),
    refetchInterval: 10_000,
    retry: false,
  });
  if (metrics.error) return <ProblemView error={metrics.error} onRetry={() => void metrics.refetch()} />;
  if (!metrics.data) return <Skeleton rows={6} />;
  const { readings } = metrics.data;
  const newest = readings.at(-1);
  if (!newest) return <Empty says="The machine has read nothing of this lease yet." />;
  return (
    <section className="panel rows" aria-label="Metrics">
      <Facts
        facts={[
          ["Read", <Time key="at" at={newest.at} />],
          fact("Processors in use", busy(readings.at(-2), newest), (cores) => `${cores.toFixed(2)} cores`),
          fact("Memory", newest.memory, formatSize),
          fact("Processes", newest.processes, String),
          fact("Received", newest.received, formatSize),
          fact("Sent", newest.sent, formatSize),
          fact("Card's memory", newest.card_memory, formatSize),
          fact("Card busy", newest.card_busy, (percent) => `${percent.toFixed(0)} %`),
        ]}
      />
    </section>
  );
}

function fact(name: string, value: number | null, written: (value: number) => string) {
  return value === null ? undefined : ([name, written(value)] as const);
}

/** Cores in use between two readings; null where the host does not know, or there is one reading alone. */
function busy(before: LeaseReading | undefined, now: LeaseReading): number | null {
  if (!before || before.cpu_seconds === null || now.cpu_seconds === null || now.at <= before.at) return null;
  return (now.cpu_seconds - before.cpu_seconds) / (now.at - before.at);
}
