import type { Problem } from "../../problem";

/** Beside a button that cannot be pressed: what stands in its way, and what to do about it. */
export function WhyNot({ problem }: { problem: Problem | null | undefined }) {
  if (!problem) return null;
  return (
    <p className="small">
      {problem.message} {problem.advice}
    </p>
  );
}
