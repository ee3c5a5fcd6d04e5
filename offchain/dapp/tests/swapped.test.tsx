/** A gateway whose pool is another one than before: refused with a way on, and no way past it. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { MemoryRouter } from "react-router";
import { expect, test, vi } from "vitest";
import { type ClaimedPool, PoolSwapped, rememberedPool, rememberInstead } from "../src/chain";
import { Problem } from "../src/problem";
import { PoolProblem } from "../src/wallet";
import { flaws } from "./given/axe";

const before: ClaimedPool = {
  chainId: 31_337,
  controller: "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
  token: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  block: 3n,
};
const now: ClaimedPool = { ...before, controller: "0x90F79bf6EB2c4f870365E785982E1f101E93b906", block: 8n };

function refused(error: Error) {
  const queries = new QueryClient();
  const asked = vi.spyOn(queries, "resetQueries");
  const onRetry = vi.fn();
  const { container } = render(
    <QueryClientProvider client={queries}>
      <MemoryRouter>
        <PoolProblem error={error} onRetry={onRetry} />
      </MemoryRouter>
    </QueryClientProvider>,
  );
  return { container, asked, onRetry };
}

test("both pools stand there whole, with what changes and what to check", async () => {
  rememberInstead(before, localStorage);
  const { container } = refused(new PoolSwapped(before, now, "as built"));
  const alert = screen.getByRole("alert");
  for (const text of [before.controller, now.controller]) expect(alert.textContent).toContain(text);
  expect(screen.getByRole("heading", { name: "What changes with it" })).toBeTruthy();
  expect(screen.getByRole("heading", { name: "What to check first" })).toBeTruthy();
  expect(screen.getByRole("link", { name: "Choose another gateway" }).getAttribute("href")).toBe("/gateway");
  expect(await flaws(container)).toEqual([]);
});

test("the pool changes only once its address was compared, and to the one that stood there", async () => {
  rememberInstead(before, localStorage);
  const { asked } = refused(new PoolSwapped(before, now, "as built"));
  const button = screen.getByRole("button", { name: "Change to pool 0x90F7…b906" });
  await userEvent.click(button);
  expect(rememberedPool(localStorage)).toEqual(before);
  await userEvent.click(screen.getByRole("checkbox", { name: /^I have compared the address/ }));
  await userEvent.click(button);
  expect(rememberedPool(localStorage)).toEqual(now);
  expect(asked).toHaveBeenCalledWith({ queryKey: ["onchain", "pool"] });
});

test("what else is wrong with a pool is told as ever, and can be tried again", async () => {
  const { onRetry } = refused(new Problem("no-pool", "There is no pool of this kind.", "Use another gateway."));
  expect(screen.queryByRole("checkbox")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(onRetry).toHaveBeenCalledOnce();
});

test("a pool that no wallet's node has read cannot be changed to", () => {
  rememberInstead(before, localStorage);
  refused(new PoolSwapped(before, now));
  expect(screen.getByText(/^Connect a wallet/)).toBeTruthy();
  expect(screen.queryByRole("checkbox")).toBeNull();
  expect(screen.queryByRole("button", { name: /^Change/ })).toBeNull();
});

test("one of other contracts is told of before it can be", () => {
  rememberInstead(before, localStorage);
  refused(new PoolSwapped(before, now, { different: "the pool: it is other code" }));
  expect(screen.getByRole("alert").textContent).toContain("the pool: it is other code. Whatever it is let take");
});
