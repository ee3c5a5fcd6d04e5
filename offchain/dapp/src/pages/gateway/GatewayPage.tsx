import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { chooseGateway, gatewayAddress, isAlone } from "../../api/gateway";
import { fetchPublished } from "../../api/published";
import { usePool } from "../../api/queries";
import { Page } from "../../app/Page";
import { PoolSwapped } from "../../chain";
import { Copy } from "../../ui/Copy";
import { Facts } from "../../ui/Facts";
import { ProblemView } from "../../ui/ProblemView";
import { Time } from "../../ui/Time";
import { SwappedPool, usePoolChain } from "../../wallet";
import { OwnNode } from "./OwnNode";
import { SignedInHere } from "./SignedInHere";

/** Which gateway answers, and another in its place: for a page that came from IPFS, any will do. */
export default function GatewayPage() {
  const id = useId();
  const queries = useQueryClient();
  const { data: pool, error } = usePool();
  const { error: refused } = usePoolChain();
  const [typed, setTyped] = useState("");
  const [refusal, setRefusal] = useState<unknown>();
  const choose = (address: string | null): void => {
    try {
      chooseGateway(address);
      setRefusal(undefined);
      setTyped("");
      void queries.resetQueries();
    } catch (problem) {
      setRefusal(problem);
    }
  };
  const { data: published } = useQuery({
    queryKey: ["published"],
    queryFn: fetchPublished,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Page title="The gateway that answers" command="leasehold gateway run">
      {refused instanceof PoolSwapped && <SwappedPool swapped={refused} />}
      <section className="panel rows" aria-label="The gateway">
        <Facts
          facts={[
            ["Address", isAlone() ? "none: the chain is read by your wallet's node" : gatewayAddress()],
            ["Pool", pool === undefined ? "not known" : <PoolSaid key="pool" address={pool.controller} />],
            pool === undefined ? undefined : ["Has read the chain to", <BlockSaid key="block" {...pool.block} />],
          ]}
        />
        <p className="soft small">
          No gateway is trusted with money or data: what you sign is made up in your browser. A page that came from a
          gateway may talk to that one alone; one that came from IPFS talks to any that allows it.
        </p>
        <form
          className="rows"
          onSubmit={(event) => {
            event.preventDefault();
            choose(typed);
          }}
        >
          <div className="field">
            <label htmlFor={id}>Another gateway</label>
            <input
              id={id}
              className="input mono"
              value={typed}
              placeholder="https://…"
              spellCheck={false}
              onChange={(event) => setTyped(event.target.value)}
            />
          </div>
          {published !== undefined && published.length > 0 && (
            <ul className="plain line" aria-label="Gateways that were published with this app">
              {published.map(({ name, address }) => (
                <li key={address}>
                  <button type="button" className="chip" onClick={() => choose(address)}>
                    {name}: {address}
                  </button>
                </li>
              ))}
            </ul>
          )}
          <div className="line">
            <button type="submit" className="button primary" disabled={typed === ""}>
              Ask this gateway from now on
            </button>
            <button type="button" className="button" onClick={() => choose(null)}>
              Ask the one that served this page
            </button>
            <button type="button" className="button" disabled={isAlone()} onClick={() => choose("none")}>
              Go on without a gateway
            </button>
          </div>
          <p className="small soft">
            Without one, your wallet's node tells your leases and the pool's rules: leases are extended, closed and
            withdrawn from, a machine's terms and stake are managed by its number, and with an IPFS node of yours
            machines are rented by theirs. Search, a provider's earnings and claims, logs and terminals take a gateway.
          </p>
        </form>
      </section>
      <SignedInHere />
      <OwnNode />
      {(refusal ?? error) != null && <ProblemView error={refusal ?? error} />}
    </Page>
  );
}

function PoolSaid({ address }: { address: string }) {
  return (
    <span className="line">
      <code className="break">{address}</code> <Copy text={address} what="the pool's address" />
    </span>
  );
}

function BlockSaid({ number, time }: { number: number; time: number }) {
  return (
    <>
      block {number.toLocaleString("en")}, <Time at={time} past />
    </>
  );
}
