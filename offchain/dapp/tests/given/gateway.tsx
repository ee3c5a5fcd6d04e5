import { QueryClientProvider } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import { HashRouter } from "react-router";
import { vi } from "vitest";
import { App } from "../../src/app/App";
import { newQueries } from "../../src/app/Providers";
import { BLOCK, POOL } from "./pool";

export type Answer = (query: URLSearchParams) => unknown;

/** A refusal, as a gateway writes it. */
export class Refusal {
  constructor(
    readonly status: number,
    readonly body: object,
  ) {}
}

/** Answers by path below /api/v1, in place of the network; whatever is not named gets an empty list. */
export function answering(answers: Record<string, Answer>): string[] {
  const asked: string[] = [];
  const known: Record<string, Answer> = { pools: () => ({ items: [POOL], total: 1, next: null }), ...answers };
  vi.stubGlobal("fetch", async (address: string) => {
    const url = new URL(address);
    const path = url.pathname.replace("/api/v1/", "");
    asked.push(path + url.search);
    const answer = await (known[path] ?? (() => ({ items: [], total: 0, next: null })))(url.searchParams);
    if (answer instanceof Refusal) return Response.json(answer.body, { status: answer.status });
    return Response.json({ block: BLOCK, ...(answer as object) });
  });
  vi.stubGlobal("WebSocket", Silent);
  return asked;
}

/** A connection that is never made. */
class Silent {
  static readonly OPEN = 1;
  readonly readyState = 0;
  close(): void {}
}

/** The whole app at an address, such as `/?q=gpu:H100`. */
export function shown(address: string) {
  window.location.hash = address;
  return render(
    <QueryClientProvider client={newQueries()}>
      <HashRouter>
        <App />
      </HashRouter>
    </QueryClientProvider>,
  );
}
