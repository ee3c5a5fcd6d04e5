/** The pool's token: what is read of it, and ERC-2612, leave to take tokens given by a signature. */
import {
  type Address,
  concat,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  hexToNumber,
  keccak256,
  type PublicClient,
  parseAbi,
  slice,
  toHex,
} from "viem";

import { controllerAbi } from "./generated/abi";
import type { Pool } from "./types";

export const tokenAbi = parseAbi([
  "function name() view returns (string)",
  "function symbol() view returns (string)",
  "function decimals() view returns (uint8)",
  "function balanceOf(address account) view returns (uint256)",
  "function allowance(address owner, address spender) view returns (uint256)",
  "function nonces(address owner) view returns (uint256)",
  "function DOMAIN_SEPARATOR() view returns (bytes32)",
  "function approve(address spender, uint256 amount) returns (bool)",
]);

const DOMAIN_TYPE = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
const VERSIONS = ["1", "2"]; // OpenZeppelin's and most; USDC's
/** Seconds in which a permit has to be mined. */
export const PERMIT_SECONDS = 1_200;

const TYPES = {
  Permit: [
    { name: "owner", type: "address" },
    { name: "spender", type: "address" },
    { name: "value", type: "uint256" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
} as const;

/** Leave for the pool to take `amount` of `owner`'s wallet, to be signed; null where the token takes no such signature. */
export async function permitOf(chain: PublicClient, pool: Pool, owner: Address, amount: bigint, deadline: bigint) {
  const domain = await permitDomain(chain, pool);
  if (domain === null) return null;
  const nonce = await chain.readContract({
    address: pool.token,
    abi: tokenAbi,
    functionName: "nonces",
    args: [owner],
  });
  const message = { owner, spender: pool.controller, value: amount, nonce, deadline };
  return { domain, types: TYPES, primaryType: "Permit", message } as const;
}

/** The call that takes the tokens by that signature into the owner's own ledger. */
export function depositWithPermit(owner: Address, amount: bigint, deadline: bigint, signature: Hex): Hex {
  const v = hexToNumber(slice(signature, 64, 65));
  return encodeFunctionData({
    abi: controllerAbi,
    functionName: "depositWithPermit",
    args: [owner, amount, deadline, v < 27 ? v + 27 : v, slice(signature, 0, 32), slice(signature, 32, 64)],
  });
}

/** The domain whose separator is the one that the token says: a signature under another is good for nothing. */
async function permitDomain(chain: PublicClient, pool: Pool) {
  try {
    const [name, separator] = await Promise.all([
      chain.readContract({ address: pool.token, abi: tokenAbi, functionName: "name" }),
      chain.readContract({ address: pool.token, abi: tokenAbi, functionName: "DOMAIN_SEPARATOR" }),
    ]);
    for (const version of VERSIONS) {
      const domain = { name, version, chainId: pool.chainId, verifyingContract: pool.token };
      if (separatorOf(domain) === separator) return domain;
    }
  } catch (error) {
    if (!isRevert(error)) throw error; // a node that does not answer is no token without permits
  }
  return null;
}

function separatorOf(domain: { name: string; version: string; chainId: number; verifyingContract: Address }): Hex {
  const words = encodeAbiParameters(
    [{ type: "bytes32" }, { type: "bytes32" }, { type: "bytes32" }, { type: "uint256" }, { type: "address" }],
    [
      keccak256(toHex(DOMAIN_TYPE)),
      keccak256(toHex(domain.name)),
      keccak256(toHex(domain.version)),
      BigInt(domain.chainId),
      domain.verifyingContract,
    ],
  );
  return keccak256(concat([words]));
}

function isRevert(error: unknown): boolean {
  return (
    error instanceof Error &&
    error.name === "ContractFunctionExecutionError" &&
    !/HTTP|fetch|timed out/i.test(error.message)
  );
}
