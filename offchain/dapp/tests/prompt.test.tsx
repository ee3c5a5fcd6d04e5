/** What a page says to type at the prompt is one command of ours, whatever link led to the page. */
import { execFileSync } from "node:child_process";
import { cleanup, screen, within } from "@testing-library/react";
import { beforeEach, expect, test } from "vitest";
import { prompt } from "../src/format";
import { answering, shown } from "./given/gateway";

beforeEach(() => void answering({}));

/** The words that a shell makes of what the page at that address would have typed, where `leasehold` only tells them. */
async function typedAt(address: string): Promise<readonly string[]> {
  shown(address);
  const said = await screen.findByText("At the prompt");
  const command = within(said.parentElement as HTMLElement).getByText(/^leasehold /).textContent ?? "";
  cleanup();
  const told = execFileSync("sh", ["-c", `leasehold() { printf '%s\\0' "$@"; }; ${command}`], { encoding: "utf8" });
  return told.split("\0").slice(0, -1);
}

const PLANTED = "1;printf planted #";
const link = encodeURIComponent(PLANTED);

test("a link's template, order and search are words of the command, and no commands", async () => {
  expect(await typedAt(`/rent?machine=5&template=${link}`)).toContain(PLANTED);
  expect(await typedAt(`/?sort=${link}`)).toContain(PLANTED);
  expect(await typedAt(`/?q=${encodeURIComponent("$(printf planted) 'a")}`)).toEqual([
    "machines",
    "$(printf",
    "planted)",
    "'a",
  ]);
});

test("nor are they options, one of which names whose market is searched", async () => {
  const search = encodeURIComponent("gpu:H100 --deployment https://thief.example/pool.json");
  const terms = ["gpu:H100", "--deployment", "https://thief.example/pool.json"];
  expect(await typedAt(`/?q=${search}`)).toEqual(["machines", "--", ...terms]);
  expect(await typedAt(`/?q=${search}&sort=-score`)).toEqual(["machines", "--sort", "-score", "--", ...terms]);
  expect(await typedAt("/?q=gpu:H100&sort=-score")).toEqual(["machines", "gpu:H100", "--sort", "-score"]);
});

test.each(["/machines/", "/leases/", "/provide/"])("nor is the number in an address such as %s", async (page) => {
  expect(await typedAt(page + link)).toContain(PLANTED);
});

test("what steers a terminal, ends a line in it or turns text round is not copied", () => {
  expect(prompt`leasehold machines ${"a\u0003\nb\u202ec\u0085"}`).toBe("leasehold machines abc");
  expect(prompt`leasehold show ${"1.2"}`).toBe("leasehold show 1.2");
  expect(prompt`leasehold machines ${["gpu:H100", "mem>=80"]}`).toBe("leasehold machines gpu:H100 'mem>=80'");
  expect(prompt`leasehold show ${""}`).toBe("leasehold show ''");
});
