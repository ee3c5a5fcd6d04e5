import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { chooseGateway, gateway } from "../src/api/gateway";
import { Problem } from "../src/problem";
import { flaws } from "./given/axe";
import { answering, Refusal, shown } from "./given/gateway";

test("another gateway is chosen by its address, and nothing else is one", () => {
  chooseGateway("https://gateway.example/pool");
  expect(gateway.url("machines", { q: "gpu:H100", sort: undefined })).toBe(
    "https://gateway.example/pool/api/v1/machines?q=gpu%3AH100",
  );
  expect(gateway.socket("live")).toBe("wss://gateway.example/pool/api/v1/live");
  expect(() => chooseGateway("javascript:alert(1)")).toThrow(Problem);
  chooseGateway(null);
  expect(gateway.url("pools")).toBe("http://localhost:3000/api/v1/pools");
});

test("a page goes on with another gateway, and says when that is no address", async () => {
  answering({});
  const { container } = shown("/gateway");
  const box = await screen.findByRole("textbox", { name: "Another gateway" });
  await userEvent.type(box, "nowhere{Enter}");
  expect((await screen.findByRole("alert")).textContent).toContain("“nowhere” is no gateway's address.");
  await userEvent.clear(box);
  await userEvent.type(box, "https://gateway.example{Enter}");
  await waitFor(() => expect(screen.getByText("https://gateway.example/")).toBeTruthy());
  expect(await flaws(container)).toEqual([]);
});

test("who is signed in is told, and signs out with all that the tab has for machines", async () => {
  const session = { account: "0x71C7656EC7ab88b098defB751B7401B5f6d8976F", expires_at: 4_000_000_000 };
  const nobody = new Refusal(401, { code: "not-signed-in", detail: "Nobody is signed in" });
  const answers = [session, {}]; // to who is signed in, and to signing out
  answering({ session: () => answers.shift() ?? nobody });
  sessionStorage.setItem("leasehold.session.31337-0xab-0xcd", "{}");
  sessionStorage.setItem("leasehold.session.group.31337-0xab-0xcd-7", "{}");
  const { container } = shown("/gateway");
  const said = await screen.findByRole("region", { name: "Who is signed in" });
  expect(said.textContent).toContain("0x71C7…976F");
  expect(await flaws(container)).toEqual([]);
  await userEvent.click(screen.getByRole("button", { name: "Sign out" }));
  await waitFor(() => expect(screen.queryByRole("region", { name: "Who is signed in" })).toBeNull());
  expect(sessionStorage).toHaveLength(0);
});

test("a gateway that cannot be reached is told of, and the network's own word is folded", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  await expect(gateway.get("pools")).rejects.toMatchObject({
    code: "gateway-unreachable",
    message: "The gateway does not answer.",
    details: "http://localhost:3000/api/v1/pools\nTypeError: Failed to fetch",
  });
});
