import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { chooseGateway, gateway } from "../src/api/gateway";
import { Problem } from "../src/problem";
import { flaws } from "./given/axe";
import { answering, shown } from "./given/gateway";

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

test("a gateway that cannot be reached is told of, and the network's own word is folded", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  await expect(gateway.get("pools")).rejects.toMatchObject({
    code: "gateway-unreachable",
    message: "The gateway does not answer.",
    details: "http://localhost:3000/api/v1/pools\nTypeError: Failed to fetch",
  });
});
