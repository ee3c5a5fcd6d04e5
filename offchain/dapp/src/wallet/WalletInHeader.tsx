import { Link } from "react-router";
import { shortAddress } from "../format";
import { useWallet, wallets } from "./useWallet";

/** Whose account is connected, and a way to let go of it; or to the page where one connects. */
export function WalletInHeader() {
  const { account, chosen } = useWallet();
  if (account === null) {
    return (
      <Link className="button little" to="/leases">
        Connect a wallet
      </Link>
    );
  }
  return (
    <details className="wallet-menu">
      <summary className="button quiet little" title={account}>
        <span className="mono">{shortAddress(account)}</span>
      </summary>
      <div className="panel rows">
        <p className="small">
          {chosen?.info.name}: <span className="mono break">{account}</span>
        </p>
        <button type="button" className="button little" onClick={() => wallets.disconnect()}>
          Disconnect
        </button>
      </div>
    </details>
  );
}
