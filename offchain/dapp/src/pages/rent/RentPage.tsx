import { Link } from "react-router";
import { useMachinesOf } from "../../api/queries";
import { Page } from "../../app/Page";
import { formatDuration, formatShare, prompt } from "../../format";
import { Empty } from "../../ui/Empty";
import { WithWallet } from "../../wallet";
import { knownName } from "../market/words";
import { RentForm } from "./RentForm";
import { useRentUrl } from "./useRentUrl";
import "./rent.css";

/** Template, shape, price, signature: the whole way to a lease on one page. */
export default function RentPage() {
  const [url, change] = useRentUrl();
  const { machine } = url;
  const name = knownName(useMachinesOf(machine === null ? [] : [machine]).get(machine ?? 0));
  if (machine === null) {
    return (
      <Page title="Rent a machine" command="leasehold machines">
        <Empty says="Choose a machine first: price, share and images are its own.">
          <Link className="button primary" to="/">
            Find a machine
          </Link>
        </Empty>
      </Page>
    );
  }
  return (
    <Page
      title={name === undefined ? `Rent machine ${machine}` : `Rent ${name}, machine ${machine}`}
      command={command(machine, url)}
    >
      <WithWallet why="A lease is your account's: connect a wallet to see what it would pay, to the last unit.">
        {(account) => <RentForm account={account} machine={machine} url={url} onUrl={change} />}
      </WithWallet>
    </Page>
  );
}

function command(machine: number, url: { template: string; share: number; seconds: number }): string {
  const share = url.share ? ["--share", formatShare(url.share)] : [];
  const what = url.template ? ["--template", url.template] : ["--file", "workload.toml"];
  const words = ["--machine", String(machine), ...what, ...share, "--for", formatDuration(url.seconds)];
  return prompt`leasehold rent ${words}`;
}
