import { type ReactNode, useEffect, useRef } from "react";
import { useLocation } from "react-router";
import { PromptLine } from "./PromptLine";
import "./page.css";

interface Props {
  /** A sentence or name, which is the page's heading and the window's title. */
  readonly title: string;
  /** The command that does the same at the prompt; what of it comes from an address is put in by `prompt`. */
  readonly command?: string;
  /** What stands beside the heading. */
  readonly beside?: ReactNode;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

/** A page: its heading, what is on it, and at its foot the command that does the same. Who comes from another page is
 * taken to the heading, so that a screen reader says where one is. */
export function Page({ title, command, beside, wide = false, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { pathname } = useLocation();
  const shown = useRef<string | undefined>(undefined);
  useEffect(() => {
    document.title = `${title} · Leasehold`;
  }, [title]);
  useEffect(() => {
    if (shown.current !== pathname && arrivedBefore()) heading.current?.focus({ preventScroll: false });
    shown.current = pathname;
  }, [pathname]);
  return (
    <div className={wide ? "page wide" : "page"}>
      <div className="line apart page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {beside}
      </div>
      {children}
      {command !== undefined && <PromptLine command={command} />}
    </div>
  );
}

let arrived = false;

/** Whether a page was shown since the document was loaded: the first one leaves the focus where the browser has it. */
function arrivedBefore(): boolean {
  const before = arrived;
  arrived = true;
  return before;
}
