import type { Group, Signatures } from "../../groups";
import { Address } from "../../ui/Address";
import { Progress } from "../../ui/Progress";
import { State } from "../../ui/State";
import type { Account } from "../../wallet";

interface Props {
  readonly group: Group;
  readonly signatures: Signatures;
  readonly own: Account["sender"]["account"];
}

/** How many have signed of those who must, and who. */
export function Signers({ group, signatures, own }: Props) {
  return (
    <>
      <Progress label="Signatures" done={Math.min(signatures.size, group.threshold)} all={group.threshold} />
      <ul className="signers">
        {group.signers.map((signer) => (
          <li key={signer}>
            <span>
              <Address address={signer} /> {signer === own && <span className="own-wallet">(your wallet)</span>}
            </span>
            {signatures.has(signer) ? <State is="good">Has signed</State> : <State is="plain">Has not signed</State>}
          </li>
        ))}
      </ul>
    </>
  );
}
