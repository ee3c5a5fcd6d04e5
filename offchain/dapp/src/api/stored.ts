/** What a gateway's IPFS node keeps for an account, and hands out: uploads and the blocks of results. */
import type { Blocks, UploadPlace, UploadStanding } from "../data";
import { Problem } from "../problem";
import { gateway } from "./gateway";

const OFFSET_TYPE = "application/offset+octet-stream";
const MOST_BLOCK = 2 << 20;

/** Uploads of whoever is signed in. */
export const uploads: UploadPlace = {
  begin: async (size, name) => await standing(await gateway.send("POST", "uploads", { body: { size, name } })),
  standing: async (id) => await gateway.get<UploadStanding>(`uploads/${id}`),
  send: async (id, offset, piece, signal) => {
    const headers = { "content-type": OFFSET_TYPE, "upload-offset": String(offset) };
    return await standing(await gateway.send("PATCH", `uploads/${id}`, { body: piece, headers, signal }));
  },
  drop: async (id) => void (await gateway.send("DELETE", `uploads/${id}`)),
};

async function standing(response: Response): Promise<UploadStanding> {
  return (await response.json()) as UploadStanding;
}

/** The blocks of a lease's published results, for whoever is signed in. */
export function resultBlocks(lease: string): Blocks {
  return async (below, cids, signal) => {
    const query = { below: below.join(","), cids: cids.join(",") };
    const answer = await gateway.send("GET", `leases/${lease}/results/blocks`, { query, signal });
    return framed(new Uint8Array(await answer.arrayBuffer()), cids.length);
  };
}

/** Blocks behind their lengths. Throws a Problem for what is cut otherwise. */
export function framed(body: Uint8Array, count: number): Uint8Array[] {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const blocks: Uint8Array[] = [];
  for (let at = 0; at < body.length; ) {
    const size = at + 4 <= body.length ? view.getUint32(at) : MOST_BLOCK + 1;
    if (size > MOST_BLOCK || at + 4 + size > body.length || blocks.length === count) throw confused();
    blocks.push(body.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  if (blocks.length !== count) throw confused();
  return blocks;
}

function confused(): Problem {
  return new Problem("gateway-confused", "The gateway's answer breaks off.", "Try again.");
}
