import { useEffect, useState } from "react";

/** Whether something has been waited for longer than so many milliseconds since this was first shown. */
export function useLate(waiting: boolean, most: number): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!waiting) return;
    const timer = setTimeout(() => setLate(true), most);
    return () => clearTimeout(timer);
  }, [waiting, most]);
  return late;
}
