import { Problem } from "../problem";

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

const CHOSEN = "leasehold.gateway";
const PREFIX = "api/v1/";

/** Where the gateway is: the one that was chosen on this device, else the one that served the page. Ends with `/`. */
export function gatewayAddress(): string {
  const chosen = localStorage.getItem(CHOSEN);
  return chosen ?? new URL("./", document.baseURI.split("#")[0]).href;
}

/** Chooses another gateway, for a page that was served by IPFS; `null` goes back to who served it.
 *
 * Throws a Problem for what is no address of one. */
export function chooseGateway(address: string | null): void {
  if (address === null) {
    localStorage.removeItem(CHOSEN);
    return;
  }
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw new Problem("invalid-gateway", `“${address}” is no gateway's address.`, "Write it whole, with https://.");
  }
  localStorage.setItem(CHOSEN, url.href.endsWith("/") ? url.href : `${url.href}/`);
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
  const json = body !== undefined && !(body instanceof Blob);
  const response = await reached(url(path, query), signal, {
    method,
    headers: { ...(json ? { "content-type": "application/json" } : {}), ...headers },
    ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : body }),
  });
  if (!response.ok) throw await refused(response);
  return response;
}

async function reached(address: string, signal?: AbortSignal, init: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(address, {
      ...init,
      headers: { accept: "application/json", ...init.headers },
      signal: signal ?? null,
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(
      "gateway-unreachable",
      "The gateway does not answer.",
      "Your leases run on without it. Look at your connection, or go to “The gateway that answers” and choose another.",
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

export const gateway = { url, socket, get, send };
