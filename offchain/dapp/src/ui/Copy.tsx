import { useState } from "react";

interface Props {
  readonly text: string;
  /** Completes the button's name: “Copy the address”. */
  readonly what: string;
  /** What the button says where the text to copy does not stand beside it. */
  readonly says?: string;
}

/** Copies a text. */
export function Copy({ text, what, says = "Copy" }: Props) {
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
        {copied ? "Copied" : says}
      </button>
      <span role="status" className="unseen">
        {copied ? `Copied ${what}` : ""}
      </span>
    </>
  );
}
