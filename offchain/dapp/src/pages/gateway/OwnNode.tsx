import { useId, useState } from "react";
import { chooseOwnNode, ownNode } from "../../alone/ownNode";
import { ProblemView } from "../../ui/ProblemView";

/** The reader's own IPFS node, by which machines are rented without a gateway. */
export function OwnNode() {
  const id = useId();
  const [named, setNamed] = useState(ownNode);
  const [typed, setTyped] = useState(named ?? "");
  const [refusal, setRefusal] = useState<unknown>(null);
  const choose = (address: string | null): void => {
    try {
      chooseOwnNode(address);
      setNamed(ownNode());
      setTyped(ownNode() ?? "");
      setRefusal(null);
    } catch (problem) {
      setRefusal(problem);
    }
  };
  return (
    <form
      className="panel rows"
      aria-label="Your own IPFS node"
      onSubmit={(event) => {
        event.preventDefault();
        choose(typed);
      }}
    >
      <h2>Your own IPFS node</h2>
      <p className="small soft">
        Asked only where no gateway is: for machines' documents, whose bytes are compared with the chain, and to keep a
        sealed workload until the machine's agent has fetched it. In Kubo, this page's address has to be among
        Access-Control-Allow-Origin of API.HTTPHeaders.
      </p>
      <div className="field">
        <label htmlFor={id}>Address of its API</label>
        <input
          id={id}
          className="input mono"
          value={typed}
          placeholder="http://127.0.0.1:5001"
          spellCheck={false}
          onChange={(event) => setTyped(event.target.value)}
        />
      </div>
      <div className="line">
        <button type="submit" className="button" disabled={typed === "" || typed === named}>
          Use this node
        </button>
        {named !== null && (
          <button type="button" className="button quiet" onClick={() => choose(null)}>
            Use none
          </button>
        )}
      </div>
      {refusal !== null && <ProblemView error={refusal} />}
    </form>
  );
}
