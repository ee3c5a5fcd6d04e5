/** The app without a gateway: which is asked, what is refused, and that a link changes no more than it may. */
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { POLICY } from "../policy";
import { answer } from "../src/alone";
import { chooseGateway, gateway, gatewayAddress, isAlone } from "../src/api/gateway";
import { fetchPublished } from "../src/api/published";
import { checkRemembered, poolLogs, rememberedPool } from "../src/chain";
import { flaws } from "./given/axe";
import { answering, shown } from "./given/gateway";
import { POOL } from "./providing/chain";

function at(query: string): void {
  window.history.replaceState(null, "", `/${query}`);
}

test("a link names a gateway for as long as the page is open, and its reader's choice ends that", () => {
  at("?gateway=https://gate.example/pool");
  expect(gatewayAddress()).toBe("https://gate.example/pool/");
  expect(localStorage.length).toBe(0);
  chooseGateway("https://mine.example");
  expect(gatewayAddress()).toBe("https://mine.example/");
  expect(window.location.search).toBe("");
  chooseGateway(null);
});

test.each(["?gateway=javascript:alert(1)", "?gateway=", "?gateway=data:text/html,x"])(
  "a link %s names none",
  (query) => {
    at(query);
    expect(gatewayAddress()).toBe("http://localhost:3000/");
    expect(isAlone()).toBe(false);
    at("");
  },
);

test("without a gateway nobody is asked over the network", async () => {
  const asked = vi.fn();
  vi.stubGlobal("fetch", asked);
  chooseGateway("none");
  expect(isAlone()).toBe(true);
  await expect(gateway.get("machines")).rejects.toMatchObject({ code: /^needs-/ });
  await expect(gateway.text("providers/x/earnings.csv")).rejects.toMatchObject({ code: "needs-gateway" });
  await expect(answer("pools", {})).rejects.toMatchObject({ code: "needs-node" });
  expect(asked).not.toHaveBeenCalled();
});

test("the pool is the one that this browser used before, whatever a link says", () => {
  expect(rememberedPool(localStorage)).toBeNull();
  checkRemembered(POOL, localStorage, true);
  const { chainId, controller, token, block } = POOL;
  expect(rememberedPool(localStorage)).toEqual({ chainId, controller, token, block });
  localStorage.setItem("leasehold.pool", "1:nobody:nothing");
  expect(rememberedPool(localStorage)).toBeNull();
});

test("events are asked for from the chain's begin, and in pieces only where the node wants that", async () => {
  const asked: string[] = [];
  const node = (most: bigint) => ({
    getBlockNumber: async () => 25_000n,
    request: async ({ params: [{ fromBlock, toBlock }] }: { params: [{ fromBlock: string; toBlock: string }] }) => {
      asked.push(`${Number(fromBlock)}-${toBlock === "latest" ? toBlock : Number(toBlock)}`);
      const span = (toBlock === "latest" ? 25_000n : BigInt(toBlock)) - BigInt(fromBlock);
      if (span > most) throw Object.assign(new Error("range too large"), { code: -32_005 });
      return [];
    },
  });
  const whole = node(10n ** 9n) as unknown as Parameters<typeof poolLogs>[0];
  await poolLogs(whole, { ...POOL, block: 20_000n }, []);
  expect(asked.splice(0)).toEqual(["0-latest"]);
  const few = node(10_000n) as unknown as Parameters<typeof poolLogs>[0];
  await poolLogs(few, { ...POOL, block: 5_000n }, []);
  expect(asked).toEqual(["0-latest", "5000-14999", "15000-24999", "25000-34999"]);
});

test("the gateways beside the app are shown, what is none is left out, and one is chosen by a click", async () => {
  answering({});
  const list = [{ name: "A", address: "https://a.example" }, { name: "B", address: "javascript:alert(1)" }, 7, null];
  const before = fetch;
  vi.stubGlobal("fetch", async (address: string | URL) =>
    String(address).endsWith("gateways.json") ? Response.json(list) : before(String(address)),
  );
  expect(await fetchPublished()).toEqual([{ name: "A", address: "https://a.example" }]);
  const { container } = shown("/gateway");
  await userEvent.click(await screen.findByRole("button", { name: "A: https://a.example" }));
  expect(gatewayAddress()).toBe("https://a.example/");
  await userEvent.click(screen.getByRole("button", { name: "Go on without a gateway" }));
  expect(await screen.findByText("none: the chain is read by your wallet's node")).toBeTruthy();
  expect(await flaws(container)).toEqual([]);
});

test("the page's own policy lets no foreign script in", () => {
  expect(POLICY).toContain("script-src 'self';");
  expect(POLICY).not.toMatch(/unsafe|default-src (?!'none')/);
});
