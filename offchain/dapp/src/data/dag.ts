/** Reads files and folders out of IPFS by way of somebody who is not believed: every block is hashed before it is used. */
import { Problem } from "../problem";
import { type Cid, corrupt, MAX_BLOCK, matches, parseCid, parseNode, type UnixNode } from "./unixfs";

/** Gives the blocks of `cids`, which hang from the last of `below`, which hangs from the one before, and so on to the root. */
export type Blocks = (below: readonly string[], cids: readonly string[], signal?: AbortSignal) => Promise<Uint8Array[]>;

const MOST_DEPTH = 32;
/** Leaves that are asked for together: what of a file is in memory at once, in MiB. */
const TOGETHER = 8;
const EMPTY = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";

/** A file or folder below a root that was verified. `below`: the CIDs from the root down to where it hangs. */
export interface Place {
  readonly cid: Cid;
  readonly below: readonly string[];
  readonly node: UnixNode;
}

export class Dag {
  private readonly blocks: Blocks;
  private readonly signal: AbortSignal | undefined;

  constructor(blocks: Blocks, signal?: AbortSignal) {
    this.blocks = blocks;
    this.signal = signal;
  }

  async root(cid: string): Promise<Place> {
    return await this.at([], parseCid(cid));
  }

  /** A folder's entry of that name, or null. */
  async entry(folder: Place, name: string): Promise<Place | null> {
    if (!folder.node.folder) throw corrupt("there is a file where a folder must be");
    const link = folder.node.links.find((known) => known.name === name);
    return link ? await this.at([...folder.below, folder.cid.text], link.cid) : null;
  }

  /** A folder's entries, by name. */
  async *entries(folder: Place): AsyncGenerator<readonly [string, Place]> {
    for (const { name, cid } of folder.node.links) yield [name, await this.at([...folder.below, folder.cid.text], cid)];
  }

  /** A file's bytes in order, all of them or a Problem. */
  async *bytes(file: Place): AsyncGenerator<Uint8Array> {
    if (file.node.folder) throw corrupt("there is a folder where a file must be");
    if (file.below.length > MOST_DEPTH) throw corrupt("it is nested without end");
    if (file.node.data.length) yield file.node.data;
    const below = [...file.below, file.cid.text];
    const { links, sizes } = file.node;
    for (let at = 0; at < links.length; ) {
      const leaves: Cid[] = [];
      for (let leaf = links[at]; leaf?.cid.raw && leaves.length < TOGETHER; leaf = links[at + leaves.length]) {
        leaves.push(leaf.cid);
      }
      if (leaves.length) {
        for (const [place, block] of (await this.verified(below, leaves)).entries()) {
          if (block.length !== sizes[at + place]) throw corrupt("a part is not as long as it says");
          yield block;
        }
        at += leaves.length;
      } else {
        const inner = links[at];
        if (inner === undefined) break;
        const part = await this.at(below, inner.cid);
        if (part.node.size !== sizes[at]) throw corrupt("a part is not as long as it says");
        yield* this.bytes(part);
        at += 1;
      }
    }
  }

  private async at(below: readonly string[], cid: Cid): Promise<Place> {
    if (below.length > MOST_DEPTH) throw corrupt("it is nested without end");
    const [block] = await this.verified(below, [cid]);
    if (block === undefined) throw corrupt("a block is missing");
    return { cid, below, node: parseNode(cid, block) };
  }

  private async verified(below: readonly string[], cids: readonly Cid[]): Promise<Uint8Array[]> {
    const wanted = cids.filter(({ text }) => text !== EMPTY); // no node sends an empty block
    const came = wanted.length
      ? await this.blocks(
          below,
          wanted.map(({ text }) => text),
          this.signal,
        )
      : [];
    if (came.length !== wanted.length) throw corrupt("other blocks came than were asked for");
    for (const [place, cid] of wanted.entries()) {
      const block = came[place];
      if (block === undefined || block.length > MAX_BLOCK || !(await matches(cid, block))) {
        throw new Problem(
          "data-swapped",
          "The gateway gave other data than was asked for.",
          "Use another gateway: nothing of it was taken.",
        );
      }
    }
    const rest = came[Symbol.iterator]();
    return cids.map(({ text }) =>
      text === EMPTY ? new Uint8Array() : ((rest.next().value as Uint8Array | undefined) ?? new Uint8Array()),
    );
  }
}
