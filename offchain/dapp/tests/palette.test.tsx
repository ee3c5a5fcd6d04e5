import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { destinations } from "../src/app/destinations";
import { flaws } from "./given/axe";
import { answering, shown } from "./given/gateway";

test("Ctrl-K goes to a page by its words, with the keyboard alone", async () => {
  answering({});
  shown("/");
  await userEvent.keyboard("{Control>}k{/Control}");
  const box = await screen.findByRole("combobox", { name: "Go to a page, a machine or a search" });
  expect(await flaws(screen.getByRole("dialog", { hidden: true }))).toEqual([]);
  await userEvent.type(box, "rules{Enter}");
  expect(await screen.findByRole("heading", { name: "The pool and its rules", level: 1 })).toBeTruthy();
  expect(window.location.hash).toBe("#/pool");
});

test("a number is a machine, an address a provider, and anything a search", () => {
  expect(destinations("12").map(({ to }) => to)).toEqual(["/machines/12", "/?q=12"]);
  const account = `0x${"a".repeat(40)}`;
  expect(destinations(account).map(({ to }) => to)).toContain(`/providers/${account}`);
  expect(destinations("gpu:H100 mem>=80").map(({ to }) => to)).toEqual(["/?q=gpu%3AH100+mem%3E%3D80"]);
});

test("the look that was chosen stays, and the system's is the usual one", async () => {
  answering({});
  shown("/");
  const look = await screen.findByRole("combobox", { name: "Light or dark" });
  await userEvent.selectOptions(look, "Dark");
  expect(document.documentElement.dataset.theme).toBe("dark");
  expect(localStorage.getItem("leasehold.theme")).toBe("dark");
  await userEvent.selectOptions(look, "System");
  expect(document.documentElement.dataset.theme).toBeUndefined();
});
