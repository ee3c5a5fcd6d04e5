/** A pool on a chain that a test writes down: what the reader's own node says, and what is sent to the wallet. */
import {
  type Address,
  concat,
  createPublicClient,
  custom,
  decodeFunctionData,
  type EIP1193Provider,
  encodeFunctionResult,
  type Hex,
  type PublicClient,
  toHex,
  zeroAddress,
  zeroHash,
} from "viem";
import type { JudgedFault, Lease, OwnMachine, Pool, ProviderRules } from "../../src/chain";
import { controllerAbi, faultsAbi } from "../../src/chain/generated/abi";

export const ME: Address = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F";
export const OTHER: Address = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65";
export const FAULTS: Address = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const TOKEN: Address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
export const NOW = 1_800_000_000;
export const UNIT = 1_000_000n;

export const POOL: Pool = {
  chainId: 31_337,
  controller: "0x5FbDB2315678afecb367f032d93F642f64180aa3",
  token: TOKEN,
  block: 1n,
  money: { symbol: "TUSD", decimals: 6 },
};

export function machine(changed: Partial<OwnMachine> = {}): OwnMachine {
  return {
    ...{ id: 7, provider: ME, operator: OTHER, status: 1, delisted: false, underStaked: false, stalled: false },
    ...{ gpus: 2, smallestShare: 1, revision: 3, params: 1, busy: 0n, leased: 0n, downSince: 0, stake: 100n * UNIT },
    ...{ retiredAt: 0, heldFrom: 0, heldTo: 0, heldUntil: 0, pendingSlashes: 0 },
    terms: {
      ...{ price: 2n * UNIT, spotPrice: 0n, minDuration: 600, maxDuration: 86_400, trial: 300 },
      availableUntilDay: 21_000,
    },
    ...changed,
  };
}

export function rules(changed: Partial<ProviderRules> = {}): ProviderRules {
  return {
    ...{ feeBps: 200, holdFeeBps: 1_000, startWindow: 600, noticeSeconds: 600, penaltySeconds: 3_600 },
    ...{ minStakePerGpu: 50n * UNIT, maxSlashBps: 10_000, claimLag: 3_600, unstakeDelay: 2_592_000 },
    ...{ appealWindow: 86_400, rulingWindow: 86_400, bond: 5n * UNIT, arbiter: OTHER },
    ...changed,
  };
}

/** Half a GPU for ten hours, of which six are over. */
export function lease(id: bigint, changed: Partial<Lease> = {}): Lease {
  return {
    ...{ id, tenant: OTHER, machine: 7, placement: 0x010f, state: 2, spot: false, noticed: false },
    ...{ start: NOW - 21_600, end: NOW + 14_400, deposit: 10n * UNIT, price: 2n * UNIT, revision: 3, params: 1 },
    ...{ settled: 0n, paused: 0, segmentStart: 0, segmentSettled: 0n },
    ...changed,
  };
}

export function fault(changed: Partial<JudgedFault> = {}): JudgedFault {
  return {
    ...{ id: 4, machine: 7, kind: 3, state: 2, from: NOW - 9_000, to: NOW - 5_400, deadline: NOW + 3_600, rules: 1 },
    ...{ amount: 40n * UNIT, bond: 0n },
    ...changed,
  };
}

/** What stands on the chain. A test changes it while a page still shows what was before. */
export interface Standing {
  machines: OwnMachine[];
  rules: ProviderRules;
  version: number;
  /** When other rules come into force; 0: none are proposed. */
  others: number;
  leases: Lease[];
  faults: JudgedFault[];
  ledger: bigint;
  wallet: bigint;
  allowance: bigint;
}

export function standing(changed: Partial<Standing> = {}): Standing {
  return {
    ...{ machines: [machine()], rules: rules(), version: 1, others: 0, leases: [], faults: [] },
    ...{ ledger: 0n, wallet: 1_000n * UNIT, allowance: 1_000n * UNIT },
    ...changed,
  };
}

/** A transaction that came to the wallet. */
export interface SentCall {
  readonly to: Address;
  readonly name: string;
  readonly args: readonly unknown[];
}

/** Hands of that account over this chain, and what they have sent, said and been asked to sign. */
export function hands(at: Standing) {
  const sent: SentCall[] = [];
  const said: string[] = [];
  const provider = {
    request: async ({ params }: { params: [{ to: Address; data: Hex }] }) => {
      const [{ to, data }] = params;
      const abi = [...controllerAbi, ...faultsAbi];
      const { functionName, args } = decodeFunctionData({ abi, data });
      sent.push({ to, name: functionName, args: args ?? [] });
      return toHex(sent.length, { size: 32 });
    },
  } as unknown as EIP1193Provider;
  const tell = (words: string) => void (said.at(-1) === words || said.push(words));
  const signTypedData = async (): Promise<Hex> => {
    throw new Error("nothing is to be signed here");
  };
  return {
    hands: { chain: chainOf(at), pool: POOL, sender: { account: ME, provider }, tell, signTypedData },
    sent,
    said,
  };
}

function chainOf(at: Standing): PublicClient {
  const request = async ({ method, params }: { method: string; params?: unknown[] }): Promise<unknown> => {
    const [first] = params ?? [];
    switch (method) {
      case "eth_chainId":
        return toHex(POOL.chainId);
      case "eth_blockNumber":
        return "0x9";
      case "eth_getCode":
        return clone();
      case "eth_getBlockByNumber":
        return { number: "0x9", hash: zeroHash, timestamp: toHex(NOW), transactions: [], baseFeePerGas: "0x1" };
      case "eth_getTransactionReceipt":
        return receipt(first as Hex);
      case "eth_call":
        return called(at, first as { to: Address; data: Hex });
    }
    throw new Error(`${method} was not expected`);
  };
  return createPublicClient({ transport: custom({ request }), pollingInterval: 1 });
}

function clone(): Hex {
  const parts = [TOKEN, OTHER, FAULTS, OTHER, OTHER];
  return concat(["0x363d3d373d3d3d363d73", zeroAddress, "0x5af43d82803e903d91602b57fd5bf3", ...parts]);
}

function receipt(hash: Hex) {
  const place = { blockNumber: "0x9", blockHash: zeroHash, transactionHash: hash, transactionIndex: "0x0" };
  const gas = { gasUsed: "0x1", cumulativeGasUsed: "0x1", effectiveGasPrice: "0x1" };
  return { ...place, ...gas, from: ME, to: POOL.controller, status: "0x1", type: "0x2", logs: [], logsBloom: "0x" };
}

const balances = [
  { type: "function", name: "balanceOf", inputs: [{ type: "address" }], outputs: [{ type: "uint256" }] },
  {
    type: "function",
    name: "allowance",
    inputs: [{ type: "address" }, { type: "address" }],
    outputs: [{ type: "uint256" }],
  },
] as const;

function called(at: Standing, { to, data }: { to: Address; data: Hex }): Hex {
  const answer = (name: string, result: unknown): Hex =>
    encodeFunctionResult({
      abi: [...controllerAbi, ...faultsAbi],
      functionName: name as "machineOf",
      result: result as never,
    });
  if (to === TOKEN) {
    const { functionName } = decodeFunctionData({ abi: balances, data });
    return toHex(functionName === "allowance" ? at.allowance : at.wallet, { size: 32 });
  }
  const { functionName, args } = decodeFunctionData({ abi: [...controllerAbi, ...faultsAbi], data });
  const [named] = (args ?? []) as readonly unknown[];
  const number = typeof named === "bigint" || typeof named === "number" ? BigInt(named) : 0n;
  switch (functionName) {
    case "machineOf": {
      const found = at.machines.find(({ id }) => BigInt(id) === number) ?? machine({ provider: zeroAddress });
      return answer(functionName, { ...found, withheld: 0n, lastVerified: 0 });
    }
    case "params":
      return answer(functionName, { ...rest(), ...at.rules });
    case "paramsVersion":
      return answer(functionName, at.version);
    case "proposedParams":
      return answer(functionName, [at.others ? at.version + 1 : 0, at.others]);
    case "leaseOf":
      return answer(functionName, {
        ...(at.leases.find(({ id }) => id === number) ?? lease(number)),
        backup: zeroHash,
      });
    case "faultOf": {
      const found = at.faults.find(({ id }) => BigInt(id) === number) ?? fault();
      return answer(functionName, { ...found, filedAt: 0, bps: 0, round: 0, previous: 0, pot: 0n, reporter: zeroHash });
    }
    case "balanceOf":
      return answer(functionName, at.ledger);
    default:
      return "0x"; // what is tried before it is sent
  }
}

function rest() {
  const spans = { challengeWindow: 600, filingWindow: 86_400, reverifyInterval: 0, committeeSize: 5 };
  return { ...spans, seatStake: 0n, verificationFee: 0n, sink: zeroAddress };
}
