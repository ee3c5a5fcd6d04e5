import { afterEach, expect, test, vi } from "vitest";
import { chooseGateway, gateway } from "../../src/api/gateway";
import { keepToken, keptToken } from "../../src/api/pageSession";
import { signedIn, signIn, signInMessage, signOut } from "../../src/api/signIn";
import { framed } from "../../src/api/stored";

const ACCOUNT = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F";
const OTHER = "0x0000000000000000000000000000000000000022";
const TOKEN = `leasehold-page-${"Ab0_-".repeat(9).slice(0, 43)}`;
const GATE = "https://gate.example";
const EVIL = "https://hostile.example";

interface Asked {
  readonly what: string;
  readonly bearer: string | null;
  readonly init: RequestInit;
}

/** A gateway that signs in whoever comes, with a token for pages elsewhere. */
function gatewayThat(nonce: string, account: string, token?: string, refusal = "not-signed-in"): Asked[] {
  const asked: Asked[] = [];
  vi.stubGlobal("fetch", async (address: string, init: RequestInit = {}) => {
    const path = new URL(address).pathname.replace("/api/v1/", "");
    const method = init.method ?? "GET";
    const bearer = new Headers(init.headers).get("authorization");
    asked.push({ what: `${method} ${path}`, bearer, init });
    if (path === "session/nonce") return Response.json({ nonce, chain_id: 31_337 });
    if (method === "DELETE") return new Response(null, { status: 204 });
    if (method === "POST") return Response.json({ account, expires_at: 2_000_000_000, token });
    if (bearer === `Bearer ${token}`) return Response.json({ account, expires_at: 2_000_000_000 });
    return Response.json({ code: refusal, detail: "Refused" }, { status: 401 });
  });
  return asked;
}

afterEach(() => {
  chooseGateway(null);
  sessionStorage.clear();
});

test("a wallet signs a text that names this site, this chain and the nonce, and no more lines than its own", async () => {
  gatewayThat("abcdefgh1", ACCOUNT);
  const signed: string[] = [];
  await signIn(ACCOUNT, async (text) => `0x${signed.push(text)}`);
  expect(signed).toHaveLength(1);
  expect(signed[0]).toContain(`${location.host} wants you to sign in with your Ethereum account:\n${ACCOUNT}\n`);
  expect(signed[0]).toContain(`URI: ${location.origin}\n`);
  expect(signed[0]).toContain("Nonce: abcdefgh1\n");
  expect(signed[0]).toContain("Chain ID: 31337\n");
  expect(sessionStorage).toHaveLength(0);
});

test.each(["short", "abcdefgh\nResources:\n- https://evil.example", "abcdefgh1 ", ""])(
  "a nonce such as %j would have something else signed",
  async (nonce) => {
    gatewayThat(nonce, ACCOUNT);
    const sign = vi.fn(async () => "0x");
    await expect(signIn(ACCOUNT, sign)).rejects.toMatchObject({ code: "gateway-confused" });
    expect(sign).not.toHaveBeenCalled();
  },
);

test("a gateway that signs in somebody else is found out", async () => {
  gatewayThat("abcdefgh1", OTHER, TOKEN);
  await expect(signIn(ACCOUNT, async () => "0x")).rejects.toMatchObject({ code: "wrong-account" });
  chooseGateway(GATE);
  await expect(signIn(ACCOUNT, async () => "0x")).rejects.toMatchObject({ code: "wrong-account" });
  expect(keptToken(`${GATE}/`)).toBeNull();
});

test("a page from elsewhere has its gateway named in what is signed, and is known by a token there", async () => {
  chooseGateway(GATE);
  const asked = gatewayThat("abcdefgh1", ACCOUNT, TOKEN);
  const signed: string[] = [];
  const sign = async (text: string) => `0x${signed.push(text)}`;
  await signIn(ACCOUNT, sign);
  expect(signed[0]).toContain(`${location.host} wants you to sign in`);
  expect(signed[0]).toContain("Let the gateway at gate.example keep your uploads");
  expect(signed[0]).toContain(`URI: ${GATE}\n`);
  expect(asked.map(({ bearer }) => bearer)).toEqual([null, null, null]);
  await signIn(ACCOUNT, sign);
  await gateway.send("PATCH", "uploads/x", { body: new Blob(["x"]) });
  expect(signed).toHaveLength(1);
  await gateway.send("GET", "agents/7/v1/health").catch(() => null); // which is none of the gateway's own
  expect(asked.pop()?.bearer).toBeNull();
  for (const { bearer, init } of asked.slice(3)) {
    expect(bearer).toBe(`Bearer ${TOKEN}`);
    expect([init.credentials, init.redirect]).toEqual(["omit", "error"]);
  }
});

test("a token goes to no other gateway, and to none once it signs out", async () => {
  keepToken(`${GATE}/`, TOKEN);
  const asked = gatewayThat("abcdefgh1", ACCOUNT, TOKEN);
  for (const other of [EVIL, `${GATE}.hostile.example`, `${GATE}:8443`, "http://localhost:9"]) {
    chooseGateway(other);
    expect(await signedIn()).toBeNull();
  }
  chooseGateway(GATE);
  expect((await signedIn())?.account).toBe(ACCOUNT);
  await signOut();
  expect(await signedIn()).toBeNull();
  expect(asked.map(({ bearer }) => bearer !== null)).toEqual([false, false, false, false, true, true, false]);
});

test("what signed in is forgotten where the gateway is not reached", async () => {
  chooseGateway(GATE);
  keepToken(`${GATE}/`, TOKEN);
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  await expect(signOut()).rejects.toMatchObject({ code: "gateway-unreachable" });
  expect(keptToken(`${GATE}/`)).toBeNull();
});

test.each([undefined, "", "abc", `${TOKEN}\r\nX: y`, `${TOKEN}x`])("%j is no token", async (token) => {
  chooseGateway(GATE);
  gatewayThat("abcdefgh1", ACCOUNT, token);
  await expect(signIn(ACCOUNT, async () => "0x")).rejects.toMatchObject({ code: "gateway-confused" });
  expect(sessionStorage).toHaveLength(0);
});

test("a gateway that signs in no page from elsewhere says so before a wallet opens", async () => {
  chooseGateway(GATE);
  gatewayThat("abcdefgh1", ACCOUNT, TOKEN, "foreign-origin");
  const sign = vi.fn(async () => "0x");
  await expect(signIn(ACCOUNT, sign)).rejects.toMatchObject({ code: "foreign-gateway" });
  expect(sign).not.toHaveBeenCalled();
});

test.each([
  { origin: "https://ipfs.example", host: "ipfs.example", pathname: "/ipfs/bafy/index.html" },
  { origin: "https://ipfs.example", host: "ipfs.example", pathname: "/ipns/app.example/" },
  { origin: "null", host: "", pathname: "/home/ada/index.html" },
  { origin: "ipfs://bafy", host: "bafy", pathname: "/" },
])("a page at $origin$pathname, whose address is not its own, asks nobody for anything", async (place) => {
  const asked = gatewayThat("abcdefgh1", ACCOUNT, TOKEN);
  const sign = vi.fn(async () => "0x");
  await expect(signIn(ACCOUNT, sign, place)).rejects.toMatchObject({ code: "shared-origin" });
  expect(asked).toEqual([]);
  expect(sign).not.toHaveBeenCalled();
});

test.each([
  [GATE, "gate.example", "Let this gateway keep"],
  [GATE, "app.example", "Let the gateway at gate.example keep"],
])("the text is of the standard's form, line by line: %s at %s", (site, host, begins) => {
  expect(signInMessage(ACCOUNT, host, site, 1, "12345678", new Date(0)).split("\n")).toEqual([
    `${host} wants you to sign in with your Ethereum account:`,
    ACCOUNT,
    "",
    `${begins} your uploads and hand you your results. It moves no money.`,
    "",
    `URI: ${site}`,
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
