import { useState } from "react";
import { problemOf } from "../../chain";
import type { Book, KeyBook } from "../../data";
import { ProblemView } from "../../ui/ProblemView";
import { save } from "../../ui/save";

/** The keys themselves: this browser has the only ones, until they are saved elsewhere. */
export function Keys({ book, kept }: { book: KeyBook; kept: Book }) {
  const [problem, setProblem] = useState<Error | null>(null);
  const [taken, setTaken] = useState<number | null>(null);
  const take = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    setProblem(null);
    setTaken(null);
    try {
      setTaken(book.take(await file.text(), Math.floor(Date.now() / 1000)));
    } catch (error) {
      setProblem(problemOf(error, "taking the keys"));
    }
  };
  return (
    <section className="panel rows" aria-labelledby="keys">
      <h2 id="keys">Your keys</h2>
      <p>
        They are in this browser alone: who clears its data loses what they open. The file has the library's own form,
        and goes to <code>~/.config/leasehold/keys/datasets.json</code> at the prompt.
      </p>
      <div className="line">
        <button
          type="button"
          className="button"
          disabled={kept.datasets.length === 0}
          onClick={() => save(new Blob([book.exported()]), "datasets.json")}
        >
          Save the keys of {kept.datasets.length} {kept.datasets.length === 1 ? "dataset" : "datasets"}
        </button>
        {kept.results !== null && (
          <button
            type="button"
            className="button"
            onClick={() => save(new Blob([`${kept.results}\n`]), "results-key.txt")}
          >
            Save the key of your results
          </button>
        )}
        <label className="button">
          Take keys from a file
          <input
            type="file"
            className="unseen"
            accept=".json,application/json"
            onChange={(event) => {
              void take(event.target.files?.[0]);
              event.target.value = "";
            }}
          />
        </label>
      </div>
      {taken !== null && (
        <p aria-live="polite">{taken === 1 ? "One new key was taken." : `${taken} new keys were taken.`}</p>
      )}
      {problem && <ProblemView error={problem} />}
    </section>
  );
}
