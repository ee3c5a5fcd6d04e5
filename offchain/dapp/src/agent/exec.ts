/** A command running on a lease, over a WebSocket through the gateway: `market/wire/_frames.py` says the frames. */
import { formatLease } from "../chain";
import { Problem } from "../problem";
import type { AgentClient } from "./client";
import { EXEC_PROTOCOL } from "./generated/wire";

const STDIN = 0;
const CHUNK = 64 * 1024;
const CREDENTIAL = "leasehold.credential.";

/** What hears of the command. `ended`: its exit code, or why there is none. */
export interface Listener {
  readonly output: (data: Uint8Array) => void;
  readonly ended: (how: number | Problem) => void;
}

/** Write, resize, close. */
export interface Terminal {
  readonly write: (data: Uint8Array) => void;
  readonly resize: (rows: number, columns: number) => void;
  readonly close: () => void;
}

/** Runs a command with a terminal in the lease's container. A browser sets no header: the credential is a subprotocol. */
export async function openTerminal(
  agent: AgentClient,
  lease: bigint,
  command: readonly string[],
  size: readonly [rows: number, columns: number],
  listener: Listener,
  socketOf: (url: string, protocols: string[]) => WebSocket = (url, protocols) => new WebSocket(url, protocols),
): Promise<Terminal> {
  const path = `/v1/leases/${formatLease(lease)}/exec`;
  const signed = await agent.credential({ method: "GET", path, query: "", op: "lease.exec", lease });
  const socket = socketOf(agent.url(path).replace(/^http/, "ws"), [EXEC_PROTOCOL, CREDENTIAL + signed]);
  socket.binaryType = "arraybuffer";
  let told = false;
  const end = (how: number | Problem) => {
    if (!told) listener.ended(how);
    told = true;
    socket.close();
  };
  socket.onopen = () => socket.send(JSON.stringify({ command, tty: true, env: { TERM: "xterm-256color" }, size }));
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (typeof data === "string") end(ending(data));
    else listener.output(new Uint8Array(data, 1));
  };
  socket.onclose = () => end(brokenOff());
  return {
    write: (data) => {
      for (let at = 0; at < data.length; at += CHUNK) send(socket, framed(data.subarray(at, at + CHUNK)));
    },
    resize: (rows, columns) => send(socket, JSON.stringify({ resize: [rows, columns] })),
    close: () => {
      told = true;
      socket.close();
    },
  };
}

function send(socket: WebSocket, frame: string | Uint8Array<ArrayBuffer>): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(frame);
}

function framed(data: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(data.length + 1);
  frame[0] = STDIN;
  frame.set(data, 1);
  return frame;
}

function ending(text: string): number | Problem {
  try {
    const said = JSON.parse(text) as { exit?: unknown; error?: unknown; detail?: unknown };
    if (typeof said.exit === "number") return said.exit;
    if (typeof said.error === "string") return new Problem(said.error, String(said.detail ?? said.error));
  } catch {
    // What is no JSON is no ending either.
  }
  return brokenOff();
}

function brokenOff(): Problem {
  return new Problem("agent-unreachable", "The connection to the machine broke off.", "Open the terminal again.");
}
