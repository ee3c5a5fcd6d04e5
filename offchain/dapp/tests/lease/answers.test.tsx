/** What a machine's agent says of a lease is its owner's word: it is read, or refused, and breaks no page. */
import { render, screen } from "@testing-library/react";
import { MemoryRouter } from "react-router";
import { toHex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test, vi } from "vitest";
import { AgentClient, grantSession } from "../../src/agent";
import { PageBoundary } from "../../src/app/PageBoundary";
import { Time } from "../../src/ui/Time";
import { pool } from "../groups/given";

const wallet = privateKeyToAccount(generatePrivateKey());
const memory = { getItem: () => null, setItem: () => {}, removeItem: () => {} };

/** The agent's client, where the agent answers so. */
async function agentThat(says: unknown): Promise<AgentClient> {
  const key = await grantSession(pool, wallet.address, async () => toHex(1, { size: 65 }), memory, 1);
  const answer = typeof says === "string" ? says : JSON.stringify(says);
  return new AgentClient({
    pool,
    machine: 1,
    key,
    url: (path) => `http://gate/${path}`,
    fetch: async () => new Response(answer),
  });
}

const STATUS = {
  ...{ lease: "1.1", lease_id: "7", phase: "running", reason: null, progress: null, result_cid: null, exit_code: null },
  ...{ ports: [{ container: 8888, host: 40_001, protocol: "tcp" }], host: "203.0.113.7", kept: null },
};

test("what an agent says is read", async () => {
  expect(await (await agentThat(STATUS)).status(7n)).toMatchObject({ phase: "running", host: "203.0.113.7" });
  const over = { ...STATUS, phase: "ended", kept: { until: 10, paid_until: 5, read_seconds: 1 }, result_cid: "bafy2" };
  expect(await (await agentThat(over)).status(7n)).toMatchObject({ kept: { until: 10 }, result_cid: "bafy2" });
});

test.each([
  null,
  {},
  "[",
  { ...STATUS, phase: {} },
  { ...STATUS, reason: { a: 1 } },
  { ...STATUS, progress: ["a"] },
  { ...STATUS, ports: null },
  { ...STATUS, ports: [null] },
  { ...STATUS, ports: [{ container: 1, host: {}, protocol: "tcp" }] },
  { ...STATUS, ports: Array(100_000).fill(STATUS.ports[0]) },
  { ...STATUS, host: "bank.example/?" },
  { ...STATUS, host: "user@bank.example" },
  { ...STATUS, exit_code: "0" },
  { ...STATUS, kept: { until: 1e300, paid_until: 1, read_seconds: 1 } },
  { ...STATUS, result_cid: "a b" },
])("a status that no agent gives is refused (%#)", async (said) => {
  await expect((await agentThat(said)).status(7n)).rejects.toMatchObject({ code: "agent-confused" });
});

test("a reason without end is cut, and turns no text round", async () => {
  const { reason } = await (await agentThat({ ...STATUS, reason: `a\u202e${"b".repeat(100_000)}` })).status(7n);
  expect([reason?.length, reason?.slice(0, 2)]).toEqual([1_000, "ab"]);
});

const READING = { at: 10, cpu_seconds: 1.5, memory: 5, processes: 1, received: null, sent: 0 };

test("figures are read, as many as are drawn", async () => {
  const { readings } = await (await agentThat({ readings: Array(50_000).fill(READING) })).metrics(7n);
  expect([readings.length, readings[0]]).toEqual([2_000, { ...READING, card_memory: null, card_busy: null }]);
});

test.each([null, {}, { readings: [null] }, { readings: [{ at: "x" }] }, '{"readings": [{"at": 1e999}]}'])(
  "figures that are none are refused (%#)",
  async (said) => {
    await expect((await agentThat(said)).metrics(7n)).rejects.toMatchObject({ code: "agent-confused" });
  },
);

test("figures that nobody can count with are not known", async () => {
  const { readings } = await (await agentThat('{"readings": [{"at": 1, "memory": 1e999, "sent": "5"}]}')).metrics(7n);
  expect(readings[0]).toMatchObject({ memory: null, sent: null });
});

function Odd(): never {
  throw new Error("odd");
}

test("a part that fails leaves the others of its page", () => {
  vi.spyOn(console, "error").mockImplementation(() => {}); // React tells of it there, too
  render(
    <MemoryRouter>
      <PageBoundary part>
        <Odd />
      </PageBoundary>
      <button type="button">Close the lease</button>
    </MemoryRouter>,
  );
  expect(screen.getByRole("alert").textContent).toContain("This part of the page failed.");
  expect(screen.getByRole("button", { name: "Close the lease" })).toBeTruthy();
});

test("a time that no calendar has breaks no page", () => {
  render(<Time at={1e300} />);
  expect(document.querySelector("time")).toBeNull();
  expect(screen.getByText("after the year 9999")).toBeTruthy();
});
