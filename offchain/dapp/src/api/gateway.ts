import { Problem } from "../problem";
import { keptToken } from "./pageSession";

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

const CHOSEN = "leasehold.gateway";
const PREFIX = "api/v1/";

/** In place of an address: no gateway is asked, and what the chain itself says is read by the reader's wallet. */
const NONE = "none";

/** Answers in place of a gateway. Throws a Problem for what the chain alone does not say. */
export type WithoutGateway = (path: string, query: Query) => Promise<unknown>;

let withoutGateway: WithoutGateway | undefined;

/** Says who answers where no gateway is to be asked. */
export function answerWithoutGateway(answer: WithoutGateway): void {
  withoutGateway = answer;
}

/** Which one was named: by the page's own address for as long as it is open (`?gateway=`), else on this device. */
function named(): string | null {
  const asked = new URLSearchParams(window.location.search).get("gateway");
  if (asked === NONE || (asked !== null && canonical(asked) !== null)) return asked;
  return localStorage.getItem(CHOSEN);
}

/** Whether no gateway is asked at all. */
export function isAlone(): boolean {
  return named() === NONE;
}

/** Where the gateway is: the one that was named, else the one that served the page. Ends with `/`. */
export function gatewayAddress(): string {
  const address = named();
  const chosen = address === null ? null : canonical(address);
  return chosen ?? servedBy();
}

/** Whether the gateway is one that neither the page's reader nor who served the page has chosen: whoever made the link to
 * it has. */
export function isOfLink(): boolean {
  const asked = new URLSearchParams(window.location.search).get("gateway");
  const address = asked === null ? null : canonical(asked);
  return address !== null && address !== servedBy() && address !== localStorage.getItem(CHOSEN);
}

/** Who served the page. Ends with `/`. */
function servedBy(): string {
  return new URL("./", document.baseURI.split(/[?#]/)[0]).href;
}

/** Chooses another gateway, for a page that was served by IPFS; `none` goes on by the chain alone, `null` goes back to who
 * served the page.
 *
 * Throws a Problem for what is no address of one. */
export function chooseGateway(address: string | null): void {
  const chosen = address === null || address === NONE ? address : canonical(address);
  if (address !== null && chosen === null) {
    throw new Problem("invalid-gateway", `“${address}” is no gateway's address.`, "Write it whole, with https://.");
  }
  if (chosen === null) localStorage.removeItem(CHOSEN);
  else localStorage.setItem(CHOSEN, chosen);
  forgetNamed();
}

/** What was named by the page's address no longer counts once its reader has chosen. */
function forgetNamed(): void {
  const here = new URL(window.location.href);
  if (!here.searchParams.has("gateway")) return;
  here.searchParams.delete("gateway");
  window.history.replaceState(window.history.state, "", here);
}

function canonical(address: string): string | null {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) return null;
  return url.href.endsWith("/") ? url.href : `${url.href}/`;
}

/** The address of a path of the API. */
function url(path: string, query: Query = {}): string {
  const address = new URL(PREFIX + path.replace(/^\//, ""), gatewayAddress());
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") address.searchParams.set(name, String(value));
  }
  return address.href;
}

function socket(path: string): string {
  return url(path).replace(/^http/, "ws");
}

/** One answer as JSON. Throws a Problem with the gateway's own sentence and advice, or one that says it was not reached. */
async function get<Answer>(path: string, query?: Query, signal?: AbortSignal): Promise<Answer> {
  if (isAlone()) return (await alone(path, query)) as Answer;
  const response = await reached(url(path, query), signal);
  if (!response.ok) throw await refused(response);
  return (await response.json()) as Answer;
}

/** What is sent of the account that is signed in here. `body` is JSON unless it is bytes, whose type `headers` name. */
export interface Sent {
  readonly body?: object | Blob;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Query;
  readonly signal?: AbortSignal | undefined;
}

/** Any other request, and its answer, which is none of the refusals. Throws a Problem. */
async function send(method: string, path: string, { body, headers, query, signal }: Sent = {}): Promise<Response> {
  if (isAlone()) throw needsGateway();
  const json = body !== undefined && !(body instanceof Blob);
  const response = await reached(url(path, query), signal, {
    method,
    headers: { ...(json ? { "content-type": "application/json" } : {}), ...headers },
    ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : body }),
  });
  if (!response.ok) throw await refused(response);
  return response;
}

/** A request without a body or a session to who served the page, whichever gateway was chosen: for links of its own, which
 * hold what is nobody else's business. Throws a Problem. */
async function sendHome(method: string, path: string): Promise<void> {
  const response = await fetched(new URL(PREFIX + path, servedBy()).href, {
    method,
    credentials: "omit",
    headers: { accept: "application/json" },
  });
  if (!response.ok) throw await refused(response);
}

/** Brings a document and reads the answer. Throws a Problem, as `get` does. */
async function post<Answer>(path: string, document: object): Promise<Answer> {
  return (await (await send("POST", path, { body: document })).json()) as Answer;
}

/** One answer as text, such as a table. Throws as `get` does. */
async function text(path: string, query?: Query, signal?: AbortSignal): Promise<string> {
  if (isAlone()) throw needsGateway();
  const response = await reached(url(path, query), signal);
  if (!response.ok) throw await refused(response);
  return await response.text();
}

async function alone(path: string, query: Query = {}): Promise<unknown> {
  if (withoutGateway === undefined) throw needsGateway();
  return await withoutGateway(path, query);
}

/** What is refused without a gateway. */
export function needsGateway(): Problem {
  return new Problem(
    "needs-gateway",
    "This takes a gateway: the chain alone does not say it.",
    "Choose one at “The gateway that answers”. Your leases can be seen and closed without.",
  );
}

async function reached(address: string, signal?: AbortSignal, more: RequestInit = {}): Promise<Response> {
  const token = address.startsWith(url("agents/")) ? null : keptToken(gatewayAddress()); // nothing of it is an agent's
  const bearer = token === null ? {} : { authorization: `Bearer ${token}` };
  // A token is sent where it is from, and nowhere else that a gateway may lead to.
  const alone: RequestInit = token === null ? {} : { credentials: "omit", redirect: "error" };
  const headers = { accept: "application/json", ...bearer, ...more.headers };
  return await fetched(address, { ...more, ...alone, headers, signal: signal ?? null });
}

async function fetched(address: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(address, request);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(
      "gateway-unreachable",
      "The gateway does not answer.",
      "Your leases run on without it. Look at your connection, or go to “The gateway that answers” and choose another, or go on without.",
      { cause: error, details: `${address}\n${String(error)}` },
    );
  }
}

/** An answer that is a refusal, as RFC 9457 writes it. */
async function refused(response: Response): Promise<Problem> {
  const said = (await response.json().catch(() => ({}))) as Partial<
    Record<"code" | "title" | "detail" | "hint", string>
  >;
  const sentence = said.detail ?? said.title ?? `The gateway answered with status ${response.status}.`;
  const advice = said.hint ?? (response.status >= 500 ? "Try again in a moment." : "");
  return new Problem(said.code ?? `http-${response.status}`, without(sentence, advice), advice, {
    details: `${response.status} from ${response.url}`,
  });
}

/** The library's sentence, which ends with its advice, as a sentence of its own. */
function without(sentence: string, advice: string): string {
  if (advice === "" || !sentence.endsWith(advice)) return sentence;
  return `${sentence.slice(0, -advice.length).replace(/[\s:;,.]+$/, "")}.`;
}

export const gateway = { url, socket, get, post, send, sendHome, text };
