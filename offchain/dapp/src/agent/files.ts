/** Files in a lease's container, by commands that its own shell runs: the agent has no other door to them. */
import { Problem } from "../problem";
import type { AgentClient } from "./client";

/** What lies in a folder there. `time`: unix seconds. A link is shown as what it leads to, where that is there. */
export interface There {
  readonly name: string;
  readonly kind: "file" | "folder" | "other";
  readonly size: number;
  readonly time: number;
}

const MOST = 2_000;
const MOST_LIST = 1 << 20;
const LIST = `cd -- "$1" || exit; n=0
for name in * .[!.]* ..?*; do
  [ -e "$name" ] || continue
  n=$((n + 1)); [ "$n" -gt ${MOST} ] && break
  stat -L -c "%f %s %Y" -- "$name" && printf '%s\\000' "$name"
done; exit 0`;
const READ = 'exec cat -- "$1"';
const WRITE =
  'part="$1.leasehold-part"; cat > "$part" && [ "$(stat -c %s -- "$part")" = "$2" ] && exec mv -f -- "$part" "$1"; rm -f -- "$part"; exit 1';
const [FOLDER, FILE, KIND] = [0o040000, 0o100000, 0o170000];

/** The first two thousand things in the folder, folders first. Throws a Problem. */
export async function filesIn(
  agent: AgentClient,
  lease: bigint,
  folder: string,
  signal?: AbortSignal,
): Promise<There[]> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const piece of agent.output(lease, script(LIST, folder), signal)) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > MOST_LIST)
      throw new Problem("too-many-files", "The folder has more than can be shown.", "Use the terminal.");
  }
  const found = text.split("\0").flatMap((entry) => thereOf(entry) ?? []);
  return found.sort((a, b) => Number(b.kind === "folder") - Number(a.kind === "folder") || (a.name < b.name ? -1 : 1));
}

/** A file's bytes as they come. Throws a Problem. */
export function fileThere(agent: AgentClient, lease: bigint, path: string, signal?: AbortSignal) {
  return agent.output(lease, script(READ, path), signal);
}

/** Puts a file there, whole or not at all. Throws a Problem. */
export async function putFile(
  agent: AgentClient,
  lease: bigint,
  path: string,
  file: Blob,
  signal?: AbortSignal,
): Promise<void> {
  await agent.feed(lease, script(WRITE, path, String(file.size)), file, signal);
}

function script(text: string, ...words: readonly string[]): readonly string[] {
  return ["sh", "-c", text, "leasehold", ...words];
}

function thereOf(entry: string): There | null {
  const found = /^([0-9a-f]+) ([0-9]+) ([0-9]+)\n([^/]+)$/s.exec(entry);
  if (!found) return null;
  const [, mode = "0", size, time, name = ""] = found;
  const kind = Number.parseInt(mode, 16) & KIND;
  return {
    name,
    kind: kind === FOLDER ? "folder" : kind === FILE ? "file" : "other",
    size: Number(size),
    time: Number(time),
  };
}
