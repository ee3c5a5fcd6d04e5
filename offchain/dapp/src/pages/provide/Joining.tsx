import { Fragment } from "react";
import { Copy } from "../../ui/Copy";
import "./provide.css";

/** How a host joins: what is typed there, and what where the wallet is. The wallet never comes near the host. */
export function Joining({ account }: { account: string | null }) {
  return (
    <section className="panel rows" aria-label="Lend out a computer">
      <h2>Lend out a computer</h2>
      <p>
        It needs Linux, a Docker engine, an IPFS node and, for cards, NVIDIA's driver. Your wallet stays elsewhere: the
        host has a key of its own that moves no money.
      </p>
      <ol className="steps">
        {steps(account ?? "0x…").map(([what, command]) => (
          <li key={command}>
            <p>{what}</p>
            <div className="command">
              <code>
                {command.split(" ").map((word, place) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: words may come twice, and stay where they are
                  <Fragment key={place}>
                    <span className="word">{word}</span>{" "}
                  </Fragment>
                ))}
              </code>
              <Copy text={command} what="this command" />
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** What is typed where, for the account that will stake the machine. */
function steps(account: string): readonly (readonly [what: string, command: string])[] {
  return [
    ["On the host, as root: install the agent.", "dpkg --install leasehold-agent_*.deb"],
    ["Write what it needs to know into /etc/leasehold/agent.toml, and let it try itself.", "leasehold-agent check"],
    [
      "Have the host describe itself for the account that will stake it.",
      `leasehold-agent describe --owner ${account} > machine.json`,
    ],
    [
      "Where your wallet is: look at the stake and the terms, and join.",
      "leasehold provider join machine.json --price 1.50 --dry-run",
    ],
    ["On the host: start the agent.", "systemctl enable --now leasehold-agent"],
  ];
}
