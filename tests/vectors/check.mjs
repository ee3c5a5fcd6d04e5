// What the dApp computes must be what the vectors say: `node tests/vectors/check.mjs`.
// viem hashes and recovers by its own means; the packing of a group's proof is spelled out here once more.
import { readFileSync } from "node:fs";
import { deepStrictEqual, strictEqual } from "node:assert";
import {
  concat,
  getContractAddress,
  getCreate2Address,
  hashDomain,
  hashStruct,
  hashTypedData,
  keccak256,
  recoverAddress,
  size,
  slice,
  toHex,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";

const { key, vectors, groups } = JSON.parse(readFileSync(new URL("typed_data.json", import.meta.url), "utf8"));
const signer = privateKeyToAccount(key);
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

const members = (type) =>
  type
    .slice(type.indexOf("(") + 1, type.indexOf(")"))
    .split(",")
    .map((member) => member.split(" "))
    .map(([kind, name]) => ({ type: kind, name }));

const DOMAIN = members("(string name,string version,uint256 chainId,address verifyingContract)");

function typed({ name, domain, type, message }) {
  const types = { [name]: members(type) };
  if (type.includes("Call(")) types.Call = members(type.slice(type.indexOf("Call(")));
  return { domain, types, primaryType: name, message };
}

for (const vector of vectors) {
  const data = typed(vector);
  const types = { ...data.types, EIP712Domain: DOMAIN };
  strictEqual(hashDomain({ domain: vector.domain, types }), vector.domain_separator, vector.name);
  strictEqual(keccak256(toHex(vector.type)), vector.type_hash, vector.name);
  strictEqual(hashStruct({ data: vector.message, primaryType: vector.name, types }), vector.struct_hash, vector.name);
  strictEqual(hashTypedData(data), vector.digest, vector.name);
  strictEqual(await recoverAddress({ hash: vector.digest, signature: vector.signature }), vector.signer, vector.name);
  strictEqual(await signer.signTypedData(data), vector.signature, vector.name);
}

const CLONE = ["0x3d602d80600a3d3981f3363d3d373d3d3d363d73", "0x5af43d82803e903d91602b57fd5bf3"];
const execute = vectors.find(({ name }) => name === "Execute");

for (const group of groups) {
  const head = concat([toHex(group.threshold, { size: 1 }), toHex(group.signers.length, { size: 1 })]);
  const identity = concat([head, ...group.signers, group.salt]).toLowerCase();
  const implementation = getContractAddress({ from: group.accounts, nonce: 1n });
  const account = getCreate2Address({
    from: group.accounts,
    salt: keccak256(identity),
    bytecode: concat([CLONE[0], implementation, CLONE[1]]),
  });
  strictEqual(account, group.account, group.name);
  strictEqual(hashTypedData(typed({ ...execute, message: group.message })), group.digest, group.name);

  const { proof } = group;
  let at = 1 + size(identity);
  strictEqual(slice(proof, 0, at), concat(["0x03", identity]), group.name);
  const signed = [];
  while (at < size(proof)) {
    const [index, kind] = [at, at + 1].map((byte) => Number(slice(proof, byte, byte + 1)));
    at += 2;
    if (kind === 1) {
      const signature = slice(proof, at, at + 65);
      const by = await recoverAddress({ hash: group.digest, signature });
      strictEqual(by, group.signers[index], group.name);
      strictEqual(BigInt(slice(signature, 32, 64)) <= HALF_ORDER, true, group.name);
      at += 65;
    } else {
      at += 2 + Number(slice(proof, at, at + 2));
    }
    signed.push({ index, kind });
  }
  deepStrictEqual(signed, group.signed, group.name);
  strictEqual(signed.length, group.threshold, group.name);
}

console.log(`${vectors.length} typed messages and ${groups.length} groups agree`);
