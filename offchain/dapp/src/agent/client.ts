/**
 * A machine's agent, as a tenant's browser talks to it: through a gateway that carries the calls and can alter none.
 *
 * Every request is signed here for one method, path, query and body; what costs, the receipt of a workload, is believed by
 * the signature of the machine's operator, whom the chain names.
 */
import { type Address, isAddressEqual, isHex, recoverTypedDataAddress } from "viem";

import { formatLease, type Pool } from "../chain";
import { Problem } from "../problem";
import { metricsIn, statusIn } from "./answers";
import { type Call, credential, digestName } from "./authorization";
import type { LeaseMetrics, LeaseStatus, SignedReceipt } from "./documents";
import { checkEnd, Output } from "./output";
import type { SessionKey } from "./session";
import { domainOf, RECEIPT } from "./typed";

/** Where agents are reached, and by whom. `clock`: unix seconds. */
export interface AgentWay {
  readonly pool: Pool;
  readonly machine: number;
  readonly key: SessionKey;
  /** The address of a path of the gateway's API. */
  readonly url: (path: string) => string;
  readonly fetch?: typeof fetch;
  readonly clock?: () => number;
}

export class AgentClient {
  readonly way: AgentWay;

  constructor(way: AgentWay) {
    this.way = way;
  }

  get now(): number {
    return (this.way.clock ?? (() => Math.floor(Date.now() / 1000)))();
  }

  /** Where the relay has a path of this machine's agent. */
  url(path: string, query = ""): string {
    return `${this.way.url(`agents/${this.way.machine}${path}`)}${query ? `?${query}` : ""}`;
  }

  async credential(call: Call): Promise<string> {
    return await credential(this.way.pool, this.way.machine, this.way.key, call, this.now);
  }

  /** Hands over a sealed workload. Until when it is held, unix seconds; a Problem unless the operator signs that it is. */
  async putWorkload(sealed: Uint8Array, operator: Address): Promise<number> {
    const digest = digestName(sealed);
    const path = `/v1/workloads/${digest}`;
    const call: Call = { method: "PUT", path, query: "", op: "workload.put", lease: 0n, body: sealed };
    const answer = (await (await this.ask(call)).json()) as SignedReceipt;
    await checkReceipt(answer, this.way.pool, this.way.machine, `0x${digest}`, operator, this.now);
    return answer.receipt.expiresAt;
  }

  async status(lease: bigint, signal?: AbortSignal): Promise<LeaseStatus> {
    return await statusIn(await this.ofLease(lease, "", "lease.status", "", signal));
  }

  async metrics(lease: bigint, signal?: AbortSignal): Promise<LeaseMetrics> {
    return await metricsIn(await this.ofLease(lease, "/metrics", "lease.metrics", "", signal));
  }

  /** The lease's log as it is written, until its container ends or `signal` says so. */
  async *logs(lease: bigint, tail: number, follow: boolean, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const query = `tail=${tail}${follow ? "&follow=true" : ""}`;
    const response = await this.ofLease(lease, "/logs", "lease.logs", query, signal);
    const reader = response.body?.getReader();
    if (!reader) return;
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
  }

  /** What a command in the lease's container writes. Throws a Problem where it fails, or its end does not come. */
  async *output(lease: bigint, command: readonly string[], signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const response = await this.run(lease, "/exec/output", command, undefined, signal);
    const reader = response.body?.getReader();
    const framed = new Output();
    try {
      for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
        yield* framed.push(piece.value);
      }
    } finally {
      await reader?.cancel().catch(() => undefined);
    }
    checkEnd(framed.end());
  }

  /** Runs a command in the lease's container on the bytes. Throws a Problem where it fails. */
  async feed(lease: bigint, command: readonly string[], bytes: Blob, signal?: AbortSignal): Promise<void> {
    checkEnd(await (await this.run(lease, "/exec", command, bytes, signal)).json());
  }

  /** What the command reads is covered by no signature: its length alone may be a gigabyte. */
  private async run(
    lease: bigint,
    ending: string,
    command: readonly string[],
    bytes: Blob | undefined,
    signal?: AbortSignal,
  ): Promise<Response> {
    const path = `/v1/leases/${formatLease(lease)}${ending}`;
    const query = new URLSearchParams({ command: JSON.stringify(command) }).toString();
    return await this.ask({ method: "POST", path, query, op: "lease.exec", lease }, signal, bytes);
  }

  private async ofLease(lease: bigint, ending: string, op: Call["op"], query = "", signal?: AbortSignal) {
    const path = `/v1/leases/${formatLease(lease)}${ending}`;
    return await this.ask({ method: "GET", path, query, op, lease }, signal);
  }

  private async ask(call: Call, signal?: AbortSignal, unsigned?: Blob): Promise<Response> {
    const headers = { authorization: `Leasehold ${await this.credential(call)}` };
    const body = (unsigned ?? call.body) as BodyInit | undefined;
    let response: Response;
    try {
      response = await (this.way.fetch ?? fetch)(this.url(call.path, call.query), {
        method: call.method,
        headers,
        ...(body ? { body } : {}),
        ...(signal ? { signal } : {}),
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Problem("gateway-unreachable", "The gateway does not answer.", "Look whether you are online.", {
        cause: error,
      });
    }
    if (!response.ok) throw await refused(response);
    return response;
  }
}

/** The refusal in a problem document, of the agent or of the gateway; or what the status alone says. */
async function refused(response: Response): Promise<Problem> {
  const said = (await response.json().catch(() => null)) as Record<string, unknown> | null;
  const code =
    typeof said?.code === "string" ? said.code : typeof said?.type === "string" ? said.type : "agent-refused";
  const detail =
    typeof said?.detail === "string" ? said.detail : `The machine's agent does not answer (${response.status}).`;
  const hint = typeof said?.hint === "string" ? said.hint : "";
  return new Problem(code.slice(code.lastIndexOf("/") + 1), detail, hint);
}

/** Throws a Problem unless the operator has signed that it holds the workload of `digest`, for this pool and machine. */
export async function checkReceipt(
  answer: SignedReceipt,
  pool: Pool,
  machine: number,
  digest: `0x${string}`,
  operator: Address,
  now: number,
): Promise<void> {
  const bad = (why: string) => new Problem("bad-receipt", `The agent's receipt ${why}.`, "Do not open a lease on it.");
  const receipt = answer?.receipt;
  if (!receipt || !isHex(answer.signature)) throw bad("cannot be read");
  const expected =
    receipt.chain === pool.chainId &&
    isAddressEqual(receipt.controller, pool.controller) &&
    receipt.machine === machine &&
    receipt.digest.toLowerCase() === digest.toLowerCase();
  if (!expected) throw bad("is for something else");
  const signer = await recoverTypedDataAddress({
    domain: domainOf(pool),
    types: { Receipt: RECEIPT },
    primaryType: "Receipt",
    message: { ...receipt, chain: BigInt(receipt.chain), expiresAt: BigInt(receipt.expiresAt) },
    signature: answer.signature,
  }).catch(() => null);
  if (signer === null || !isAddressEqual(signer, operator)) throw bad("is not signed by the machine's operator");
  if (receipt.expiresAt <= now) throw bad("has expired already");
}
