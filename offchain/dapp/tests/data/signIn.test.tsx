import { expect, test, vi } from "vitest";
import { signIn, signInMessage } from "../../src/api/signIn";
import { framed } from "../../src/api/stored";

const ACCOUNT = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F";
const OTHER = "0x0000000000000000000000000000000000000022";
const HERE = { origin: location.origin, host: location.host };

function gatewayThat(nonce: string, account: string): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (address: string, init?: RequestInit) => {
    const path = new URL(address).pathname.replace("/api/v1/", "");
    asked.push(`${init?.method ?? "GET"} ${path}`);
    if (path === "session/nonce") return Response.json({ nonce, chain_id: 31_337 });
    if (init?.method === "POST") return Response.json({ account, expires_at: 2_000_000_000 });
    return Response.json({ code: "not-signed-in", detail: "Nobody is signed in" }, { status: 401 });
  });
  return asked;
}

test("a wallet signs a text that names this site, this chain and the nonce, and no more lines than its own", async () => {
  gatewayThat("abcdefgh1", ACCOUNT);
  const signed: string[] = [];
  await signIn(ACCOUNT, async (text) => `0x${signed.push(text)}`, HERE);
  expect(signed).toHaveLength(1);
  expect(signed[0]).toContain(`${HERE.host} wants you to sign in with your Ethereum account:\n${ACCOUNT}\n`);
  expect(signed[0]).toContain("Nonce: abcdefgh1\n");
  expect(signed[0]).toContain("Chain ID: 31337\n");
});

test.each(["short", "abcdefgh\nResources:\n- https://evil.example", "abcdefgh1 ", ""])(
  "a nonce such as %j would have something else signed",
  async (nonce) => {
    gatewayThat(nonce, ACCOUNT);
    const sign = vi.fn(async () => "0x");
    await expect(signIn(ACCOUNT, sign, HERE)).rejects.toMatchObject({ code: "gateway-confused" });
    expect(sign).not.toHaveBeenCalled();
  },
);

test("a gateway that signs in somebody else is found out", async () => {
  gatewayThat("abcdefgh1", OTHER);
  await expect(signIn(ACCOUNT, async () => "0x", HERE)).rejects.toMatchObject({ code: "wrong-account" });
});

test("a page from elsewhere asks its wallet for nothing", async () => {
  const asked = gatewayThat("abcdefgh1", ACCOUNT);
  const sign = vi.fn(async () => "0x");
  const place = { origin: "https://ipfs.example", host: "ipfs.example" };
  await expect(signIn(ACCOUNT, sign, place)).rejects.toMatchObject({ code: "foreign-gateway" });
  expect(asked).toEqual([]);
});

test("the text is of the standard's form, line by line", () => {
  const text = signInMessage(
    ACCOUNT,
    { origin: "https://gate.example", host: "gate.example" },
    1,
    "12345678",
    new Date(0),
  );
  expect(text.split("\n")).toEqual([
    "gate.example wants you to sign in with your Ethereum account:",
    ACCOUNT,
    "",
    "Let this gateway keep your uploads and hand you your results. It moves no money.",
    "",
    "URI: https://gate.example",
    "Version: 1",
    "Chain ID: 1",
    "Nonce: 12345678",
    "Issued At: 1970-01-01T00:00:00.000Z",
  ]);
});

test.each([
  ["cut in a length", [0, 0, 0], 1],
  ["cut in a block", [0, 0, 0, 2, 1], 1],
  ["one block more", [0, 0, 0, 1, 1, 0, 0, 0, 1, 1], 1],
  ["one block less", [0, 0, 0, 1, 1], 2],
  ["a block without end", [255, 255, 255, 255, 1], 1],
])("an answer that is %s is none", (_, bytes, count) => {
  expect(() => framed(Uint8Array.from(bytes), count)).toThrow(expect.objectContaining({ code: "gateway-confused" }));
});
