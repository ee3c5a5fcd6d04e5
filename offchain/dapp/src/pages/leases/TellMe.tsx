import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { isAddressEqual } from "viem";
import { alerts, type ToldPlaces } from "../../api/alerts";
import { isAlone } from "../../api/gateway";
import { signIn } from "../../api/signIn";
import { Problem } from "../../problem";
import { ProblemView } from "../../ui/ProblemView";
import { Skeleton } from "../../ui/Skeleton";
import { type Account, DoingView, textSigner, useDoing } from "../../wallet";
import { AddPlace } from "./AddPlace";
import { ToldPlaceView } from "./ToldPlaceView";
import "../../ui/more.css";

const LOOK_AGAIN = 15_000;

/** Where the gateway tells the account of its leases, while no page of it is open. */
export function TellMe({ account }: { account: Account }) {
  const [open, setOpen] = useState(false);
  if (isAlone()) return null;
  return (
    <details className="more" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Tell me when something happens to them</summary>
      <div className="rows">
        <p>
          The gateway looks at your leases and tells you by a webhook, by ntfy or by e-mail, while no page of it is
          open. It sees what the chain says, and whether a machine's agent answers. What an agent tells you alone it
          does not see: a command that has ended or crashes, a card without work. And it moves nothing: it challenges no
          silent machine, opens no standby, and cannot seal what runs to another machine, since it cannot read it. A{" "}
          <code>leasehold guard</code> of your own does all of that.
        </p>
        {open && <Places account={account} />}
      </div>
    </details>
  );
}

/** Null where nobody, or somebody else, is signed in to the gateway. */
async function ask(account: Account, signal: AbortSignal): Promise<ToldPlaces | null> {
  const said = await alerts.list(signal).catch((error: unknown) => {
    if (error instanceof Problem && error.code === "not-signed-in") return null;
    throw error;
  });
  return said !== null && isAddressEqual(said.account as `0x${string}`, account.sender.account) ? said : null;
}

function Places({ account }: { account: Account }) {
  const { doing, run } = useDoing();
  const told = useQuery({
    queryKey: ["alerts", account.sender.account],
    queryFn: ({ signal }) => ask(account, signal),
    refetchInterval: LOOK_AGAIN,
    retry: false,
  });
  const looked = async (): Promise<void> => void (await told.refetch());
  if (told.error) return <ProblemView error={told.error} onRetry={() => void told.refetch()} />;
  if (told.data === undefined) return <Skeleton rows={2} />;
  if (told.data === null) {
    const enter = (): void =>
      void run("signing in", async () => {
        await signIn(account.sender.account, textSigner(account.sender));
        await looked();
      });
    return (
      <>
        <div className="line">
          <button type="button" className="button" disabled={doing.busy} onClick={enter}>
            Sign in to say where
          </button>
          <p className="small soft">Your wallet signs a text that names this site. It moves no money.</p>
        </div>
        <DoingView doing={doing} chain={account.chain} />
      </>
    );
  }
  const { recipients, most } = told.data;
  return (
    <>
      <ul className="told-places">
        {recipients.map((place) => (
          <ToldPlaceView key={place.id} {...{ account, place, looked }} />
        ))}
      </ul>
      {recipients.length < most && <AddPlace account={account} known={told.data} onDone={looked} />}
    </>
  );
}
