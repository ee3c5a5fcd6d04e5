import { useSyncExternalStore } from "react";

const TICK = 5_000;
const watchers = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

/** Unix seconds, told anew every five seconds: one clock for all that shows how long ago something was. */
export function useNow(): number {
  return useSyncExternalStore(watch, now);
}

function tick(): void {
  for (const watcher of watchers) watcher();
}

function now(): number {
  return Math.floor(Date.now() / TICK) * (TICK / 1000);
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  ticking ??= setInterval(tick, TICK);
  return () => {
    watchers.delete(watcher);
    if (watchers.size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
  };
}
