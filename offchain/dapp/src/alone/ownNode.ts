/**
 * The reader's own IPFS node (Kubo), where no gateway is asked: documents come from it, and sealed workloads are left there,
 * where a machine's agent looks for what nobody has brought. Nothing that it says is believed: bytes are hashed, and what is
 * left there is sealed.
 */

import { Problem } from "../problem";
import { cidOfDigest, type FetchDocument, sha256 } from "../sealing";

const CHOSEN = "leasehold.ipfs";
const MOST_DOCUMENT = 2 << 20; // bytes: more than that no node hands another in one block
const SECONDS = 30;
const COUNTS_FROM = "Its API must let this page ask: in Kubo, list the page's address in API.HTTPHeaders.";

/** The address of the node's API that was named on this device; null where none was. */
export function ownNode(): string | null {
  const named = localStorage.getItem(CHOSEN);
  return named === null ? null : canonical(named);
}

/** Names the node, or none. Throws a Problem for what is no address that a page may ask. */
export function chooseOwnNode(address: string | null): void {
  const chosen = address === null ? null : canonical(address.trim());
  if (address !== null && chosen === null) {
    throw new Problem(
      "invalid-node",
      `“${address}” is no address of an IPFS node that this page may ask.`,
      "Write it whole: http://127.0.0.1:5001 on this computer, elsewhere with https://.",
    );
  }
  if (chosen === null) localStorage.removeItem(CHOSEN);
  else localStorage.setItem(CHOSEN, chosen);
}

/** A document's bytes by its CID. Whoever asks hashes them. Throws a Problem. */
export const fetchFromOwnNode: FetchDocument = async (cid) => {
  const response = await asked("block/get", { arg: cid });
  const size = Number(response.headers.get("content-length") ?? 0);
  const bytes = size > MOST_DOCUMENT ? null : new Uint8Array(await response.arrayBuffer());
  if (bytes !== null && bytes.length <= MOST_DOCUMENT) return bytes;
  throw new Problem(
    "document-unavailable",
    "Your IPFS node gives more bytes than a document has.",
    "Use another node.",
  );
};

/** Leaves a sealed workload on the node, pinned. Throws a Problem unless the node calls it by the CID that it has. */
export async function leaveOnOwnNode(sealed: Uint8Array): Promise<void> {
  const body = new FormData();
  body.append("data", new Blob([sealed as BlobPart]));
  const kind = { "cid-codec": "raw", mhtype: "sha2-256", pin: "true" };
  const said = (await (await asked("block/put", kind, body)).json().catch(() => null)) as { Key?: unknown } | null;
  if (said?.Key === cidOfDigest(await sha256(sealed))) return;
  throw new Problem(
    "workload-not-kept",
    "Your IPFS node did not keep the sealed workload as it is.",
    "Use another node: nothing was signed.",
  );
}

async function asked(command: string, query: Readonly<Record<string, string>>, body?: FormData): Promise<Response> {
  const node = ownNode();
  if (node === null) {
    throw new Problem(
      "needs-ipfs",
      "Without a gateway this takes an IPFS node of yours, and none is named.",
      "Name one at “The gateway that answers”, or choose a gateway there.",
    );
  }
  const address = `${node}api/v0/${command}?${new URLSearchParams(query)}`;
  const init: RequestInit = { method: "POST", credentials: "omit", signal: AbortSignal.timeout(SECONDS * 1000) };
  const response = await fetch(address, body === undefined ? init : { ...init, body }).catch((error: unknown) => {
    throw new Problem("ipfs-unreachable", `Your IPFS node at ${node} does not answer in time.`, COUNTS_FROM, {
      cause: error,
    });
  });
  if (response.ok) return response;
  const advice = response.status === 403 ? COUNTS_FROM : "See whether it runs, and reaches other nodes.";
  throw new Problem("ipfs-refused", `Your IPFS node refuses ${command} (${response.status}).`, advice);
}

const LOOPBACK = new Set(["127.0.0.1", "localhost"]);

function canonical(address: string): string | null {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || url.username || url.search || url.hash) return null;
  if (url.protocol !== "https:" && !(url.protocol === "http:" && LOOPBACK.has(url.hostname))) return null;
  return url.href.endsWith("/") ? url.href : `${url.href}/`;
}
