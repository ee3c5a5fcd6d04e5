import { expect, test } from "vitest";
import {
  formatAmount,
  formatCount,
  formatDuration,
  formatFree,
  formatRelative,
  formatShare,
  formatSize,
  inWords,
  parseDuration,
  quoted,
  shortAddress,
} from "../src/format";

test("an amount is exact, or cut and marked", () => {
  expect(formatAmount(1_500_000n, 6)).toBe("1.5");
  expect(formatAmount(1_234_567n, 6, 2)).toBe("~1.23");
  expect(formatAmount(1_230_000n, 6, 2)).toBe("1.23");
  expect(formatAmount(-1n, 6)).toBe("-0.000001");
  expect(formatAmount(10n ** 40n + 1n, 18)).toBe(`1${"0".repeat(22)}.000000000000000001`);
});

test.each([
  [5_400, "1h30m"],
  [90_061, "1d1h1m1s"],
  [0, "0s"],
])("%i seconds are written and read as %s", (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text);
  expect(parseDuration(text)).toBe(seconds);
});

test.each(["", "2", "h", "2 hours", "1h 30m", "-1h"])("%j is no duration", (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test("a moment is told by how far it is", () => {
  expect(formatRelative(1_000, 1_000)).toBe("now");
  expect(formatRelative(820, 1_000)).toBe("3 minutes ago");
  expect(formatRelative(1_000 + 7_300, 1_000)).toBe("in 2 hours");
  expect(formatRelative(40_000_000, 1_000)).toBe("in 1 year");
  expect(formatRelative(0, 800_000)).toBe("1 week ago");
  expect([-86_400, 90_000, -2 * 86_400, -3_700, -1].map((span) => formatRelative(1e9 + span, 1e9))).toEqual([
    "yesterday",
    "tomorrow",
    "2 days ago",
    "1 hour ago",
    "1 second ago",
  ]);
});

test("a count has its thousands apart", () => {
  expect([0, 999, 1_000, 1_234_567].map(formatCount)).toEqual(["0", "999", "1,000", "1,234,567"]);
});

test("shares, sizes, names", () => {
  expect([1, 2, 4, 8, 64].map(formatShare)).toEqual(["1/8", "1/4", "1/2", "1", "8"]);
  expect([0, 4, 6, 12, 16].map(formatFree)).toEqual(["0", "1/2", "3/4", "1 1/2", "2"]);
  expect(formatSize(85_520_809_984)).toBe("85.5 GB");
  expect(shortAddress("0x71C7656EC7ab88b098defB751B7401B5f6d8976F")).toBe("0x71C7…976F");
  expect(inWords("holdFeeBps")).toBe("hold fee bps");
  expect(["gpu:H100", "mem>=80", "it's"].map(quoted)).toEqual(["gpu:H100", "'mem>=80'", "'it'\\''s'"]);
});
