/** News that come while their answer is on its way: what was asked before them is asked for again. */
import { QueryClientProvider, useQuery } from "@tanstack/react-query";
import { act, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { useLive } from "../src/api/live";
import { newQueries } from "../src/app/Providers";

class Socket {
  static readonly OPEN = 1;
  static made: Socket[] = [];
  readyState = 1;
  onopen = (): void => {};
  onmessage = (_message: { data: string }): void => {};
  onclose = (): void => {};
  constructor() {
    Socket.made.push(this);
  }
  send(): void {}
  close(): void {}
}

type Give = (words: string) => void;
const asked: Give[] = [];

function Leases() {
  useLive(["machines"]);
  const { data } = useQuery({
    queryKey: ["machines", "claimable"],
    queryFn: () => new Promise<string>((resolve) => void asked.push(resolve)),
  });
  return <p>{data ?? "asking"}</p>;
}

test("an answer from before the news, which comes after them, does not stay", async () => {
  vi.stubGlobal("WebSocket", Socket);
  render(
    <QueryClientProvider client={newQueries()}>
      <Leases />
    </QueryClientProvider>,
  );
  const [socket] = Socket.made;
  const give = (place: number, words: string): Promise<void> => act(async () => asked[place]?.(words));
  await act(async () => socket?.onmessage({ data: '{"topic":"machines"}' }));
  await act(async () => socket?.onmessage({ data: '{"topic":"machines"}' }));
  expect(asked).toHaveLength(1); // nothing is asked for twice at once
  await give(0, "no lease runs");
  await screen.findByText("no lease runs");
  await vi.waitFor(() => expect(asked).toHaveLength(2));
  await give(1, "one lease runs");
  expect(await screen.findByText("one lease runs")).toBeTruthy();
  expect(asked).toHaveLength(2); // and what is newer than all news is not asked for again
});
