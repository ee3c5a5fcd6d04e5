/**
 * The first pool that this browser is to use: whichever it is, it is refused another one from then on.
 *
 * So its contracts are compared with those that this app was built with, by the wallet's own node, and what a link has
 * chosen is used once its reader says so. A gateway that names a contract of its own, which takes what it is let take,
 * is found out before anything is signed.
 */
import type { PublicClient } from "viem";
import { gatewayAddress, isOfLink } from "../api/gateway";
import { checkRemembered, type Memory, type Pool, PoolSwapped, rememberedPool } from "../chain";
import { Problem } from "../problem";

/** A pool that this browser does not know, and uses once its reader says so. */
export class UnknownPool extends Problem {
  readonly pool: Pool;

  constructor(pool: Pool, code: string, problem: string, advice: string) {
    super(code, problem, advice);
    this.pool = pool;
  }
}

/** Lets a pool be used, or throws a Problem. `byWallet`: the wallet's own node has confirmed it, so it is remembered; and
 * of one that is another than before it says what its contracts are. */
export async function admit(chain: PublicClient, pool: Pool, memory: Memory, byWallet: boolean): Promise<void> {
  if (byWallet && rememberedPool(memory) === null) await checkFirst(chain, pool);
  try {
    checkRemembered(pool, memory, byWallet);
  } catch (problem) {
    if (!byWallet || !(problem instanceof PoolSwapped)) throw problem;
    const different = await differenceOf(chain, pool);
    throw new PoolSwapped(problem.before, problem.now, different === null ? "as built" : { different });
  }
}

/** Its reader means that pool. */
export function accept({ pool }: UnknownPool, memory: Memory): void {
  checkRemembered(pool, memory, true);
}

async function checkFirst(chain: PublicClient, pool: Pool): Promise<void> {
  const different = await differenceOf(chain, pool);
  if (different !== null) {
    throw new UnknownPool(
      pool,
      "pool-of-other-code",
      `The pool ${pool.controller} does not run on the contracts that this app was built with. ${different}.`,
      "Whatever it is let take of your wallet it may keep. Use another gateway, unless somebody whom you trust has explained that.",
    );
  }
  if (!isOfLink()) return;
  throw new UnknownPool(
    pool,
    "pool-of-a-link",
    `The link to this page has it ask ${gatewayAddress()}, and this browser has used no pool yet.`,
    `It would be ${pool.controller} from then on, and no other. Go on if you know that gateway, or choose one at “The gateway that answers”.`,
  );
}

/** What of a pool's contracts this app was not built with, and why; null where all of it was. */
async function differenceOf(chain: PublicClient, pool: Pool): Promise<string | null> {
  const [{ checkCode }, { builtCode }] = await Promise.all([
    import("../chain/code"), // what a browser that knows its pool does without
    import("../chain/generated/builtCode"),
  ]);
  const found = (await checkCode(chain, pool, builtCode)).find(({ why }) => why !== null);
  return found === undefined ? null : `${found.name}: ${found.why}`;
}
