import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { HashRouter } from "react-router";
import { Problem } from "../problem";

/** What every page stands on: the cache of the gateway's answers and the router. */
export function Providers({ children }: { children: ReactNode }) {
  const [queries] = useState(newQueries);
  return (
    <QueryClientProvider client={queries}>
      <HashRouter>{children}</HashRouter>
    </QueryClientProvider>
  );
}

/** A cache that asks again only what may come out otherwise: a refusal does not. */
export function newQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: { queries: { staleTime: 10_000, refetchOnWindowFocus: true, retry: mayComeOutOtherwise } },
  });
}

function mayComeOutOtherwise(failures: number, error: Error): boolean {
  return failures < 2 && error instanceof Problem && error.code === "gateway-unreachable";
}
