import { useEffect, useRef, useState } from "react";
import type { AgentClient } from "../../agent";
import { problemOf } from "../../chain";
import { ProblemView } from "../../ui/ProblemView";
import { State } from "../../ui/State";

const MOST = 200_000;
const TAIL = 500;

/** The lease's log, as it is written; the end of it where it is long. */
export function Logs({ agent, lease, live }: { agent: AgentClient; lease: bigint; live: boolean }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<Error | null>(null);
  const [turn, setTurn] = useState(0);
  const [following, setFollowing] = useState(true);
  const shown = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another turn is another attempt
  useEffect(() => {
    const ended = new AbortController();
    setText("");
    setProblem(null);
    setFollowing(true);
    const follow = async (): Promise<void> => {
      const decoder = new TextDecoder();
      for await (const piece of agent.logs(lease, TAIL, live, ended.signal)) {
        const read = decoder.decode(piece, { stream: true });
        setText((before) => (before + read).slice(-MOST));
      }
    };
    follow()
      .catch((error: unknown) => {
        if (!ended.signal.aborted) setProblem(problemOf(error, "following the log"));
      })
      .finally(() => {
        if (!ended.signal.aborted) setFollowing(false);
      });
    return () => ended.abort();
  }, [agent, lease, live, turn]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it scrolls when there is more text
  useEffect(() => {
    const element = shown.current;
    if (element) element.scrollTop = element.scrollHeight;
  }, [text]);
  return (
    <section className="rows" aria-label="Logs">
      <div className="line apart">
        <State is={following ? "good" : "plain"}>{following ? "Following" : "The log has ended"}</State>
        <button type="button" className="button little" onClick={() => setTurn(turn + 1)}>
          Read it again
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section ref={shown} className="log mono" tabIndex={0} aria-label="Log">
        {text || "Nothing was written yet."}
      </section>
      {problem && <ProblemView error={problem} onRetry={() => setTurn(turn + 1)} />}
    </section>
  );
}
