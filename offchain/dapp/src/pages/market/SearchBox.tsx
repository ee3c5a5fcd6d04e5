import { useEffect, useId, useState } from "react";
import type { Problem } from "../../problem";
import { columnOf, wrongIn } from "../../search/terms";
import type { MarketUrl } from "./useMarketUrl";

const PAUSE = 300;

/** The search, in the language that the command line reads. It is asked when typing pauses; what is wrong in it is shown
 * at its column. */
export function SearchBox({ url, error }: { url: MarketUrl; error: Error | null }) {
  const id = useId();
  const [typed, setTyped] = useState(url.q);
  const { q, set } = url;
  const wrong = wrongIn(error);

  // biome-ignore lint/correctness/useExhaustiveDependencies: only a search that came from elsewhere replaces what is typed
  useEffect(() => {
    if (q !== typed.trim()) setTyped(q);
  }, [q]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `set` is made anew with each address, and does the same
  useEffect(() => {
    if (typed.trim() === q) return;
    const timer = setTimeout(() => set({ q: typed.trim() }), PAUSE);
    return () => clearTimeout(timer);
  }, [typed]);

  return (
    <search className="field">
      <label htmlFor={id}>Search</label>
      <input
        id={id}
        className="input mono"
        type="search"
        value={typed}
        spellCheck={false}
        autoCapitalize="none"
        autoComplete="off"
        placeholder="gpu:H100 mem>=80 price<2.5 verified:yes"
        aria-invalid={wrong !== undefined}
        aria-describedby={`${id}-says`}
        onChange={(event) => setTyped(event.target.value)}
      />
      <div id={`${id}-says`} role="status">
        {wrong !== undefined && <WrongAt search={q} problem={wrong} />}
      </div>
    </search>
  );
}

/** The search once more, with a mark below the character that is wrong, and the language's own sentence. */
function WrongAt({ search, problem }: { search: string; problem: Problem }) {
  const column = columnOf(problem.message);
  return (
    <div className="wrong-at">
      {column !== undefined && (
        <pre aria-hidden="true">
          {search}
          {"\n"}
          {" ".repeat(column - 1)}▲
        </pre>
      )}
      <p>{[problem.message, problem.advice].filter(Boolean).join(" ")}</p>
    </div>
  );
}
