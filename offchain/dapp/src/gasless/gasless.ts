/**
 * A transaction that somebody else sends, because the account has no coin for gas.
 *
 * The fee is one of the calls that are signed, so that it is paid if they happen and only then; whom it goes to and how much
 * it is was shown before. The gateway is believed nothing else: the calls are the page's own, tried on the reader's node
 * before the gateway has them, and what was done is read from the chain.
 */
import {
  type Address,
  concat,
  decodeFunctionData,
  encodeFunctionData,
  getAddress,
  type Hex,
  hexToNumber,
  isAddress,
  isAddressEqual,
  keccak256,
  numberToHex,
  type PublicClient,
  slice,
  type TransactionReceipt,
  toHex,
} from "viem";
import { gateway, isAlone } from "../api/gateway";
import { type Deed, type GaslessStage, type Pool, problemOf, readHead } from "../chain";
import { controllerAbi } from "../chain/generated/abi";
import { exact, formatAbsolute } from "../format";
import { type Call, type Execution, executionRequest, nextNonce, type Place, readPlace } from "../groups";
import { accountsAbi } from "../groups/generated/accounts";
import { Problem } from "../problem";
import { checkNoneWaits, forgetSigned, noteSigned } from "./waiting";

/** How long what was signed may be sent, as the library has it. */
export const GASLESS_SECONDS = 600;
/** The row of nonces that gasless calls have. */
const KEY = BigInt(slice(keccak256(toHex("leasehold.gasless")), 0, 24));
const LITTLE_GAS = 150_000n; // what no transaction of these pages does without
const POLL = 1_000;
const LOOKS = 30;

/** What it takes. `tell` hears the stages, of which one is a question. */
export interface GaslessHands {
  readonly chain: PublicClient;
  readonly pool: Pool;
  readonly account: Address;
  readonly signTypedData: (request: ReturnType<typeof executionRequest>) => Promise<Hex>;
  readonly tell: (stage: GaslessStage) => void;
  readonly pause?: (milliseconds: number) => Promise<void>;
}

/**
 * Sends it by the gateway where the account has no coin and its reader agrees to the fee; null where it is to go the usual
 * way. Throws a Problem where it is neither, or where a gateway may still send what would be done twice then.
 */
export async function sendGasless(hands: GaslessHands, deed: Deed): Promise<TransactionReceipt | null> {
  const calls = callsIn(deed, hands.pool);
  const receipt = await sentByGateway(hands, calls);
  if (receipt === null) await checkNoneWaits(hands, KEY, calls);
  else forgetSigned(hands);
  return receipt;
}

async function sentByGateway(hands: GaslessHands, calls: readonly Call[]): Promise<TransactionReceipt | null> {
  if (isAlone() || (await hasGasMoney(hands)) || !(await isServed())) return null;
  const { pool, account, chain, tell } = hands;
  const fee = await askFee(account, calls);
  if (fee === null) return null;
  const agreed = await new Promise<boolean>((agree) => {
    tell({ kind: "fee", amount: exact(fee.amount, pool.money), payee: fee.payee, agree });
  });
  if (!agreed) return null;
  const place = await readPlace(chain, pool);
  const head = await readHead(chain);
  const execution = await executionOf(hands, place, calls, fee, head.time);
  tell({ kind: "signing" });
  const proof = proofOf(await hands.signTypedData(executionRequest(place, execution)));
  const data = executed(execution, proof);
  await chain.call({ to: place.accounts, data });
  noteSigned(hands, place.accounts, execution.nonce, execution.deadline, calls);
  return await handedOver(hands, place, { execution, proof, data, fee, calls, since: head.number });
}

async function hasGasMoney({ chain, account }: GaslessHands): Promise<boolean> {
  const [coins, price] = await Promise.all([chain.getBalance({ address: account }), chain.getGasPrice()]);
  return coins > 0n && coins >= price * LITTLE_GAS;
}

async function isServed(): Promise<boolean> {
  return await gateway.get("gasless").then(
    () => true,
    () => false,
  );
}

/** What the deed does, call by call: several in one are signed one by one, and happen together all the same. */
function callsIn({ to, data }: Deed, pool: Pool): readonly Call[] {
  if (!isAddressEqual(to, pool.controller)) return [{ target: getAddress(to), data }];
  try {
    const { functionName, args } = decodeFunctionData({ abi: controllerAbi, data });
    if (functionName === "multicall") return args[0].map((part) => ({ target: pool.controller, data: part }));
  } catch {
    // A function that these pages do not read: it is one call.
  }
  return [{ target: pool.controller, data }];
}

interface Fee {
  readonly amount: bigint;
  readonly payee: Address;
}

const AMOUNT = /^[0-9]{1,29}$/;

/** The gateway's price for these calls; null where they are none that it sends. */
async function askFee(account: Address, calls: readonly Call[]): Promise<Fee | null> {
  const said = await gateway
    .post<{ fee?: unknown; payee?: unknown }>("gasless/quotes", { account, calls })
    .catch((error: unknown) => {
      if (error instanceof Problem && error.code === "not-gasless") return null;
      throw error;
    });
  if (said === null) return null;
  const { fee, payee } = said;
  if (typeof fee !== "string" || !AMOUNT.test(fee) || typeof payee !== "string" || !isAddress(payee)) {
    throw new Problem("gasless-refused", "The gateway names no fee that is one.", "Nothing was signed.");
  }
  return { amount: BigInt(fee), payee: getAddress(payee) };
}

async function executionOf(
  { chain, pool, account }: GaslessHands,
  { accounts }: Place,
  calls: readonly Call[],
  fee: Fee,
  time: number,
): Promise<Execution> {
  const nonce = await nextNonce(chain, { accounts }, account, KEY);
  const pays = encodeFunctionData({ abi: controllerAbi, functionName: "transfer", args: [fee.payee, fee.amount] });
  const now = Math.max(time, Math.floor(Date.now() / 1000));
  return {
    account,
    calls: [{ target: pool.controller, data: pays }, ...calls],
    nonce,
    deadline: BigInt(now + GASLESS_SECONDS),
  };
}

function proofOf(signature: Hex): Hex {
  const v = hexToNumber(slice(signature, 64, 65));
  return concat(["0x01", slice(signature, 0, 64), numberToHex(v < 27 ? v + 27 : v, { size: 1 })]);
}

function executed({ account, calls, nonce, deadline }: Execution, proof: Hex): Hex {
  return encodeFunctionData({
    abi: accountsAbi,
    functionName: "execute",
    args: [account, calls, nonce, deadline, proof],
  });
}

interface Signed {
  readonly execution: Execution;
  readonly proof: Hex;
  readonly data: Hex;
  readonly fee: Fee;
  readonly calls: readonly Call[];
  readonly since: bigint;
}

async function handedOver(hands: GaslessHands, place: Place, signed: Signed): Promise<TransactionReceipt> {
  const { account, nonce, deadline } = signed.execution;
  const { payee, amount } = signed.fee;
  const body = {
    account,
    payee,
    fee: String(amount),
    calls: signed.calls,
    nonce: String(nonce),
    deadline: Number(deadline),
    proof: signed.proof,
  };
  hands.tell({ kind: "handed" });
  const refused = await gateway.post("gasless", body).then(
    () => null,
    (error: unknown) => problemOf(error, "this transaction", hands.pool.money),
  );
  const pause = hands.pause ?? ((milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)));
  for (let look = 0; look < LOOKS; look += 1) {
    const receipt = await receiptOf(hands.chain, place, signed).catch((error: unknown) => {
      if (error instanceof Problem) throw error;
      return null; // a node that fails meanwhile says nothing of what the gateway has
    });
    if (receipt) {
      hands.tell({ kind: "mined", hash: receipt.transactionHash, receipt });
      return receipt;
    }
    if (refused instanceof Problem && refused.code !== "gateway-unreachable") break;
    await pause(POLL);
  }
  throw notSent(refused, Number(deadline));
}

/** The chain's word on what was signed; null while there is none. */
async function receiptOf(chain: PublicClient, { accounts }: Place, signed: Signed): Promise<TransactionReceipt | null> {
  const { account, nonce } = signed.execution;
  const event = accountsAbi.find((entry) => entry.type === "event" && entry.name === "Executed");
  if (event?.type !== "event") throw new Error("the ABI has no Executed");
  const args = { account, nonce };
  const [log] = await chain.getLogs({ address: accounts, event, args, fromBlock: signed.since, toBlock: "latest" });
  if (!log) return null;
  const { input } = await chain.getTransaction({ hash: log.transactionHash });
  if (input !== signed.data) {
    throw new Problem(
      "gasless-other",
      "Something else that this account signed was done in its place.",
      "Look at how things are before you sign again.",
    );
  }
  return await chain.getTransactionReceipt({ hash: log.transactionHash });
}

function notSent(refused: Error | null, deadline: number): Problem {
  const until = `What you signed can still be sent until ${formatAbsolute(deadline)}; signed again before then, it is done once all the same.`;
  const said = refused?.message ?? "The gateway has what you signed, and it is not on the chain yet.";
  const code = refused instanceof Problem ? refused.code : "gasless-unknown";
  return new Problem(code, said, until);
}
