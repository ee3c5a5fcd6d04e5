/** Which pool a browser uses that has used none: not one whose contracts are a gateway's own, nor a link's alone. */
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type Address, concat, createPublicClient, custom, getAddress, type Hex, toHex } from "viem";
import { beforeEach, expect, test, vi } from "vitest";
import { type Pool, readPool, rememberedPool } from "../src/chain";
import * as code from "../src/chain/code";
import { admit, UnknownPool } from "../src/wallet/firstUse";
import { PoolProblem } from "../src/wallet/PoolProblem";

const at = (number: number): Address => getAddress(toHex(number, { size: 20 }));
const [CONTROLLER, TOKEN, THIEF] = [at(1), at(2), at(3)];
const pool: Pool = {
  ...{ chainId: 31_337, controller: CONTROLLER, token: TOKEN, block: 1n },
  money: { symbol: "USDT", decimals: 6 },
};
let asked: string[];

/** What a hostile gateway names: a clone with a pool's arguments, and a token that people have, over code of its own. */
const request = async ({ method, params }: { method: string; params?: readonly unknown[] }): Promise<unknown> => {
  asked.push(method);
  if (method === "eth_chainId") return toHex(31_337);
  if (method === "eth_getCode") return params?.[0] === CONTROLLER ? clone() : "0x6001600155";
  const { data } = (params?.[0] ?? {}) as { data?: Hex };
  if (data === "0x313ce567") return toHex(6, { size: 32 });
  return concat([toHex(32, { size: 32 }), toHex(4, { size: 32 }), `0x${"55534454".padEnd(64, "0")}`]);
};
const chain = createPublicClient({ transport: custom({ request }, { retryCount: 0 }) });

function clone(): Hex {
  return concat([
    "0x363d3d373d3d3d363d73",
    THIEF,
    "0x5af43d82803e903d91602b57fd5bf3",
    ...[TOKEN, THIEF, THIEF, THIEF, THIEF],
  ]);
}

function linked(search: string): void {
  window.history.replaceState(null, "", `/${search}`);
}

beforeEach(() => {
  asked = [];
  localStorage.clear();
  linked("");
});

test("a contract of a gateway's own that looks like a pool is found out before anything is signed", async () => {
  const read = await readPool(chain, pool);
  expect(read).toEqual(pool); // by form and token it is one
  await expect(admit(chain, read, localStorage, true)).rejects.toMatchObject({
    code: "pool-of-other-code",
    message: expect.stringContaining(CONTROLLER),
  });
  expect(rememberedPool(localStorage)).toBeNull();
});

test("its reader may use it all the same, and is asked once", async () => {
  const error = await admit(chain, pool, localStorage, true).catch((problem: unknown) => problem);
  const retry = vi.fn();
  render(<PoolProblem error={error as UnknownPool} onRetry={retry} />);
  await userEvent.click(screen.getByRole("button", { name: "Use this pool" }));
  expect(retry).toHaveBeenCalledOnce();
  asked = [];
  await admit(chain, pool, localStorage, true);
  expect(asked).toEqual([]);
  await expect(admit(chain, { ...pool, controller: THIEF }, localStorage, true)).rejects.toMatchObject({
    code: "pool-swapped",
    contracts: { different: expect.stringContaining("the pool") },
  });
  await expect(admit(chain, { ...pool, controller: THIEF }, localStorage, false)).rejects.toMatchObject({
    contracts: "unread",
  });
});

test("without a wallet nothing is compared, nor remembered", async () => {
  await admit(chain, pool, localStorage, false);
  expect([asked, localStorage.length]).toEqual([[], 0]);
});

test("a link that names a gateway names no first pool", async () => {
  vi.spyOn(code, "checkCode").mockResolvedValue([]);
  linked("?gateway=https://gate.example");
  await expect(admit(chain, pool, localStorage, true)).rejects.toBeInstanceOf(UnknownPool);
  expect(localStorage.length).toBe(0);
  localStorage.setItem("leasehold.gateway", "https://gate.example/"); // chosen here, too
  await admit(chain, pool, localStorage, true);
  expect(rememberedPool(localStorage)?.controller).toBe(CONTROLLER);
});

test("nor does one that names who serves the page, which is nobody else", async () => {
  vi.spyOn(code, "checkCode").mockResolvedValue([]);
  linked(`?gateway=${encodeURIComponent(window.location.origin)}`);
  await admit(chain, pool, localStorage, true);
  expect(rememberedPool(localStorage)?.controller).toBe(CONTROLLER);
});
