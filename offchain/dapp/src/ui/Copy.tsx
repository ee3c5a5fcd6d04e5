import { useState } from "react";

/** Copies a text. `what` completes the button's name: “Copy the address”. */
export function Copy({ text, what }: { text: string; what: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <>
      <button
        type="button"
        className="button quiet little"
        aria-label={`Copy ${what}`}
        onBlur={() => setCopied(false)}
        onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
      >
        {copied ? "Copied" : "Copy"}
      </button>
      <span role="status" className="unseen">
        {copied ? `Copied ${what}` : ""}
      </span>
    </>
  );
}
