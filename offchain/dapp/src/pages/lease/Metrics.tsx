import { useQuery } from "@tanstack/react-query";
import type { AgentClient, LeaseReading } from "../../agent";
import { LineChart } from "../../charts/LineChart";
import type { Series } from "../../charts/scale";
import { formatSize } from "../../format";
import { Empty } from "../../ui/Empty";
import { Facts } from "../../ui/Facts";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { Time } from "../../ui/Time";

const LOOK_EVERY = 10_000;

/** What the lease uses: the newest of its readings, and how each went. */
export default function Metrics({ agent, lease }: { agent: AgentClient; lease: bigint }) {
  const metrics = useQuery({
    queryKey: ["agent", "metrics", agent.way.machine, String(lease)],
    queryFn: ({ signal }) => agent.metrics(lease, signal),
    refetchInterval: LOOK_EVERY,
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
          ["Read", <Time key="at" at={newest.at} past />],
          fact("Processors in use", rate(readings.at(-2), newest, "cpu_seconds"), inCores),
          fact("Memory", newest.memory, formatSize),
          fact("Processes", newest.processes, String),
          fact("Received", newest.received, formatSize),
          fact("Sent", newest.sent, formatSize),
          fact("Card's memory", newest.card_memory, formatSize),
          fact("Card busy", newest.card_busy, inPercent),
        ]}
      />
      <Chart title="Card busy, in per cent" series={[line("busy", readings, "card_busy")]} format={inPercent} />
      <Chart title="Card's memory" series={[line("used", readings, "card_memory")]} format={formatSize} />
      <Chart title="Processors in use, in cores" series={[rates("in use", readings, "cpu_seconds")]} />
      <Chart title="Memory" series={[line("used", readings, "memory")]} format={formatSize} />
      <Chart
        title="Network, by the second"
        series={[rates("received", readings, "received"), rates("sent", readings, "sent")]}
        format={formatSize}
      />
    </section>
  );
}

interface ChartProps {
  readonly title: string;
  readonly series: readonly Series[];
  /** Short enough to stand beside an axis; a number as it is without one. */
  readonly format?: (value: number) => string;
}

/** What the host does not know is not drawn. */
function Chart({ title, series, format }: ChartProps) {
  const known = series.filter(({ points }) => points.some(({ value }) => value !== null));
  return known.length ? <LineChart title={title} series={known} height={180} {...(format && { format })} /> : null;
}

type Counted = "cpu_seconds" | "received" | "sent";

function line(name: string, readings: readonly LeaseReading[], field: keyof LeaseReading): Series {
  return { name, points: readings.map((reading) => ({ at: reading.at, value: reading[field] })) };
}

function rates(name: string, readings: readonly LeaseReading[], field: Counted): Series {
  const points = readings.map((reading, place) => ({
    at: reading.at,
    value: rate(readings[place - 1], reading, field),
  }));
  return { name, points: points.slice(1) };
}

function fact(name: string, value: number | null, written: (value: number) => string) {
  return value === null ? undefined : ([name, written(value)] as const);
}

/** By how much a count grew in each second between two readings; null where nobody knows, or it began anew. */
function rate(before: LeaseReading | undefined, now: LeaseReading, field: Counted): number | null {
  const [from, to] = [before?.[field] ?? null, now[field]];
  if (before === undefined || from === null || to === null || now.at <= before.at || to < from) return null;
  return (to - from) / (now.at - before.at);
}

function inCores(cores: number): string {
  return `${cores.toFixed(2)} cores`;
}

function inPercent(percent: number): string {
  return `${percent.toFixed(0)} %`;
}
