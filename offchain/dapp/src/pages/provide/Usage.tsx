import { useQuery } from "@tanstack/react-query";
import { LineChart } from "../../charts/LineChart";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { useNow } from "../../ui/useNow";
import { fetchLeasesSince } from "./leasesOf";
import { dailyUse, meanUse } from "./usage";

const DAY = 86_400;

interface Props {
  readonly provider: string;
  readonly cells: number;
  readonly days: number;
}

/** How much of the machines was leased, day by day. */
export default function Usage({ provider, cells, days }: Props) {
  const now = useNow();
  const found = useQuery({
    queryKey: ["machines", "usage", provider, days],
    queryFn: ({ signal }) => fetchLeasesSince(provider, Math.floor(Date.now() / 1000) - days * DAY, signal),
  });
  if (found.error) return <ProblemView error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Skeleton rows={6} />;
  const use = dailyUse(found.data.leases, cells, days, now);
  return (
    <div className="rows">
      <p className="numbers">
        {meanUse(use).toFixed(1)} % leased in {days} days, of all that there is now
        {!found.data.all && "; the newest 1,000 leases are counted"}
      </p>
      <LineChart
        title="Per cent leased a day"
        series={[{ name: "Leased", points: use.map(({ day, percent }) => ({ at: day, value: percent })) }]}
      />
    </div>
  );
}
