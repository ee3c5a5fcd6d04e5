import { useState } from "react";
import { ProblemView } from "../ui/ProblemView";
import type { AnnouncedWallet } from "./discovery";
import { useWallet, wallets } from "./useWallet";
import "./wallet.css";

/** One button for each wallet that this browser has, by its own name; or what to do where there is none. */
export function ConnectWallet() {
  const { wallets: found } = useWallet();
  const [error, setError] = useState<unknown>(null);
  const connect = (wallet: AnnouncedWallet): void => {
    setError(null);
    wallets.connect(wallet).catch(setError);
  };
  if (found.length === 0) return <NoWallet />;
  return (
    <div className="rows">
      <div className="line">
        {found.map((wallet) => (
          <button key={wallet.info.uuid} type="button" className="button primary" onClick={() => connect(wallet)}>
            Connect {wallet.info.name}
          </button>
        ))}
      </div>
      {error !== null && <ProblemView error={error} />}
    </div>
  );
}

function NoWallet() {
  return (
    <div className="notice">
      <h2>This browser has no wallet.</h2>
      <p>
        You can look at everything without one. To rent, install a wallet that works in this browser and load the page
        again; or rent at the prompt, where the wallet is a file of yours.
      </p>
    </div>
  );
}
