import { Link } from "react-router";
import { PoolSwapped } from "../chain";
import { ProblemView } from "../ui/ProblemView";
import { accept, UnknownPool } from "./firstUse";
import { SwappedPool } from "./SwappedPool";

interface Props {
  readonly error: Error;
  readonly onRetry: () => void;
}

/** Why the pool cannot be used. One that this browser does not know can be, where its reader says so; where it is another
 * than before, the way on stands there. */
export function PoolProblem({ error, onRetry }: Props) {
  if (error instanceof PoolSwapped) {
    return (
      <SwappedPool swapped={error}>
        <Link className="button primary" to="/gateway">
          Choose another gateway
        </Link>
      </SwappedPool>
    );
  }
  if (!(error instanceof UnknownPool)) return <ProblemView error={error} onRetry={onRetry} />;
  return (
    <>
      <ProblemView error={error} />
      <button
        type="button"
        className="button"
        onClick={() => {
          accept(error, localStorage);
          onRetry();
        }}
      >
        Use this pool
      </button>
    </>
  );
}
