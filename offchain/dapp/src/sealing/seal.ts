/** Sealing in the age format: what is sealed here one machine can open, and neither the gateway nor IPFS. */
import { Decrypter, Encrypter, generateIdentity, identityToRecipient } from "age-encryption";
import { MAX_UPLOAD } from "../agent/generated/wire";
import { Problem } from "../problem";
import { canonical, type WorkloadFields } from "./workload";

/** The workload, sealed to a machine's recipient. Throws a Problem for one that is too large, or a key that is none. */
export async function seal(workload: WorkloadFields, recipient: string): Promise<Uint8Array> {
  const sealed = await sealTo(canonical(workload), [recipient]);
  if (sealed.length > MAX_UPLOAD) {
    throw new Problem("workload-too-large", "The workload is larger than 1 MiB.", "Put large inputs into a dataset.");
  }
  return sealed;
}

export async function sealTo(data: Uint8Array, recipients: readonly string[]): Promise<Uint8Array> {
  const encrypter = new Encrypter();
  try {
    for (const recipient of recipients) encrypter.addRecipient(recipient);
  } catch (error) {
    throw new Problem("age-key-invalid", "The machine's key is no age recipient.", "Choose another machine.", {
      cause: error,
    });
  }
  return await encrypter.encrypt(data);
}

/** What was sealed to `identity`. Throws a Problem where it was sealed to others, or is damaged. */
export async function open(sealed: Uint8Array, identity: string): Promise<Uint8Array> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  try {
    return await decrypter.decrypt(sealed);
  } catch (error) {
    throw new Problem("seal-broken", "This key does not open it, or it is damaged.", "Use the key it was sealed to.", {
      cause: error,
    });
  }
}

/** A new age key: its secret, and the recipient that others seal to. */
export async function newIdentity(): Promise<{ identity: string; recipient: string }> {
  const identity = await generateIdentity();
  return { identity, recipient: await identityToRecipient(identity) };
}
