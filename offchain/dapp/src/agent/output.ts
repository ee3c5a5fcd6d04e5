/** What a command wrote, taken apart: pieces behind their lengths, and behind a length of nought how it ended. */
import { Problem } from "../problem";

const HEAD = 4;
const MOST_END = 64 * 1024;

/** Takes the body as it comes. */
export class Output {
  private held = new Uint8Array();
  private left = 0;
  private over = false;

  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let rest: Uint8Array = chunk;
    while (rest.length) {
      if (this.over) {
        if (this.held.length + rest.length > MOST_END) throw brokeOff();
        this.held = put(this.held, rest);
        return;
      }
      if (this.left) {
        const piece = rest.subarray(0, this.left);
        this.left -= piece.length;
        rest = rest.subarray(piece.length);
        yield piece;
        continue;
      }
      const taken = rest.subarray(0, HEAD - this.held.length);
      this.held = put(this.held, taken);
      rest = rest.subarray(taken.length);
      if (this.held.length === HEAD) {
        this.left = new DataView(this.held.buffer).getUint32(0);
        this.over = this.left === 0;
        this.held = new Uint8Array();
      }
    }
  }

  /** How it ended, as the agent says. Throws a Problem where the body broke off. */
  end(): unknown {
    if (!this.over) throw brokeOff();
    try {
      return JSON.parse(new TextDecoder().decode(this.held));
    } catch {
      throw brokeOff();
    }
  }
}

/** Throws a Problem unless the command ended well. */
export function checkEnd(said: unknown): void {
  const end = said as { exit?: unknown; said?: unknown; type?: unknown; detail?: unknown } | null;
  if (end?.exit === 0) return;
  if (typeof end?.type === "string") throw new Problem(end.type, String(end.detail ?? end.type));
  if (typeof end?.exit !== "number") throw brokeOff();
  const complaint = typeof end.said === "string" ? end.said.trim() : "";
  throw new Problem("command-failed", complaint || `The command ends with ${end.exit}.`, "Look at the path.");
}

function put(held: Uint8Array, more: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(held.length + more.length);
  whole.set(held);
  whole.set(more, held.length);
  return whole;
}

function brokeOff(): Problem {
  return new Problem("agent-unreachable", "The connection to the machine broke off.", "Try again.");
}
