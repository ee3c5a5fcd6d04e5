import { startTransition, useEffect, useState } from "react";

/** How many of a list's entries are there by now: as many as a window shows at first, then some more whenever the page has
 * time, until all are. So a long list keeps nobody from typing and scrolling while it is made, and is soon whole for who
 * searches it or hears it read. */
export function useByAndBy(all: number, some: number): number {
  const [made, setMade] = useState(some);
  useEffect(() => {
    if (made >= all) return;
    const next = setTimeout(() => startTransition(() => setMade(made + some)));
    return () => clearTimeout(next);
  }, [made, all, some]);
  return Math.min(made, all);
}
