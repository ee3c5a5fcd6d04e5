import { Problem } from "../problem";
import "./notice.css";

interface Props {
  readonly error: unknown;
  /** Tries again. */
  readonly onRetry?: (() => void) | undefined;
}

/** What went wrong: the sentence, what to do, and folded what a person who helps would ask for. */
export function ProblemView({ error, onRetry }: Props) {
  const problem = problemOf(error);
  return (
    <section className="notice bad" role="alert">
      <h2>{problem.message}</h2>
      {problem.advice !== "" && <p>{asSentence(problem.advice)}</p>}
      {onRetry !== undefined && (
        <button type="button" className="button" onClick={onRetry}>
          Try again
        </button>
      )}
      <details>
        <summary>Details</summary>
        <pre>{[`code: ${problem.code}`, problem.details].filter(Boolean).join("\n")}</pre>
      </details>
    </section>
  );
}

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const details = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Problem("unexpected", "Something went wrong that this page does not know.", "Load it again.", { details });
}

/** The library's advice begins in lower case, as the end of a sentence. */
function asSentence(advice: string): string {
  return advice.charAt(0).toUpperCase() + advice.slice(1);
}
