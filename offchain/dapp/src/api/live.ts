import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { type Frame, type Link, LiveLink } from "./liveLink";
import type { Block } from "./types";

export interface LiveState {
  readonly link: Link;
  readonly block: Block | undefined;
}

const POLL = 15_000;

/** The app's one live connection, and who of its parts wants news of what. News are never believed: they make the cache
 * ask again. */
class Live {
  state: LiveState = { link: "waiting", block: undefined };
  private readonly wanted = new Map<string, number>();
  private readonly watchers = new Set<() => void>();
  private queries: QueryClient | undefined;
  private poll: ReturnType<typeof setInterval> | undefined;
  private readonly link = new LiveLink({
    told: (frame) => this.told(frame),
    linked: (link) => this.linked(link),
  });

  /** Wants news of topics until the returned function is called. */
  want(topics: readonly string[], queries: QueryClient): () => void {
    this.queries = queries;
    for (const topic of topics) this.count(topic, 1);
    this.link.want(this.topics());
    return () => {
      for (const topic of topics) this.count(topic, -1);
      // A page that follows another often wants the same: the connection is asked once both have spoken.
      queueMicrotask(() => this.link.want(this.topics()));
    };
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  private count(topic: string, by: number): void {
    const count = (this.wanted.get(topic) ?? 0) + by;
    if (count > 0) this.wanted.set(topic, count);
    else this.wanted.delete(topic);
  }

  private topics(): string[] {
    return [...this.wanted.keys()].sort();
  }

  private told(frame: Frame): void {
    if (frame.block) this.become({ ...this.state, block: frame.block });
    void this.refresh(frame.topic);
  }

  private linked(link: Link): void {
    this.become({ ...this.state, link });
    clearInterval(this.poll);
    const all = (): void => this.topics().forEach((topic) => void this.refresh(topic));
    if (link === "live") all();
    if (link === "polling") this.poll = setInterval(all, POLL);
  }

  /** The cache's answers whose key begins with the topic's parts are asked for again: `lease:7` → `["lease", "7"]`. What is
   * being asked for already may have been answered before there was this news: it is asked for once more after that. */
  private async refresh(topic: string): Promise<void> {
    const { queries } = this;
    if (queries === undefined) return;
    const queryKey = topic.split(":");
    const asked = new Set(queries.getQueryCache().findAll({ queryKey, fetchStatus: "fetching" }));
    const answers = [...asked].map(({ promise }) => promise);
    void queries.invalidateQueries({ queryKey }, { cancelRefetch: false });
    if (asked.size === 0) return;
    await Promise.allSettled(answers);
    await queries.invalidateQueries({ predicate: (query) => asked.has(query) }, { cancelRefetch: false });
  }

  private become(state: LiveState): void {
    this.state = state;
    for (const watcher of this.watchers) watcher();
  }
}

const live = new Live();

/** Keeps what a part of the app shows of these topics fresh, as long as it is shown. */
export function useLive(topics: readonly string[]): void {
  const queries = useQueryClient();
  const joined = topics.join();
  useEffect(() => live.want(joined === "" ? [] : joined.split(","), queries), [joined, queries]);
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(live.watch, () => live.state);
}
