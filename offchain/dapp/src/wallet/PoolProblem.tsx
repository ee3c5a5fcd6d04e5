import { ProblemView } from "../ui/ProblemView";
import { accept, UnknownPool } from "./firstUse";

/** Why the pool cannot be used; one that this browser does not know can be, where its reader says so. */
export function PoolProblem({ error, retry }: { error: Error; retry: () => void }) {
  if (!(error instanceof UnknownPool)) return <ProblemView error={error} onRetry={retry} />;
  return (
    <>
      <ProblemView error={error} />
      <button
        type="button"
        className="button"
        onClick={() => {
          accept(error, localStorage);
          retry();
        }}
      >
        Use this pool
      </button>
    </>
  );
}
