import "./small.css";

/** The four meanings. Each has a shape of its own beside its colour, and never stands without a word. */
export type Meaning = "good" | "waiting" | "warning" | "bad" | "plain";

export function State({ is, children }: { is: Meaning; children: string }) {
  return (
    <span className={`state ${is}`}>
      <svg viewBox="0 0 12 12" width="10" height="10" aria-hidden="true">
        {SHAPES[is]}
      </svg>
      {children}
    </span>
  );
}

const SHAPES = {
  good: <circle cx="6" cy="6" r="5" fill="currentColor" />,
  waiting: <circle cx="6" cy="6" r="4.5" fill="none" stroke="currentColor" strokeWidth="2.5" />,
  warning: <path d="M6 0.5 11.8 11H.2z" fill="currentColor" />,
  bad: <path d="M1 1h10v10H1z" fill="currentColor" />,
  plain: <path d="M1 5h10v2.5H1z" fill="currentColor" />,
};
