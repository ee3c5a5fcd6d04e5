import type { ReactNode } from "react";
import "./notice.css";

/** Where nothing is: a sentence, and the one button or command that fills it. */
export function Empty({ says, children }: { says: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p>{says}</p>
      {children}
    </div>
  );
}
