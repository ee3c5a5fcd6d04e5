import { useSyncExternalStore } from "react";

/** Whether a media query holds, and told anew when that changes. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (watcher) => {
      const list = window.matchMedia(query);
      list.addEventListener("change", watcher);
      return () => list.removeEventListener("change", watcher);
    },
    () => window.matchMedia(query).matches,
  );
}

/** Whether the window is as narrow as a phone's: tables become cards. */
export function usePhone(): boolean {
  return useMedia("(max-width: 720px)");
}
