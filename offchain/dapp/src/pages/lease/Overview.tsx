import type { LeaseStatus } from "../../agent";
import { useMachinesOf } from "../../api/queries";
import { cellsOf, formatLease } from "../../chain";
import { Address } from "../../ui/Address";
import { Copy } from "../../ui/Copy";
import { Facts } from "../../ui/Facts";
import { Time } from "../../ui/Time";
import type { Account } from "../../wallet";
import { LeasedShare } from "../leases/LeasedShare";
import { secretsOf } from "../rent/useRenting";
import type { LeaseNow } from "./useLeaseOnChain";

/** What it is, where its ports are, and the secrets that were made for it. */
export function Overview({ now, status }: { account: Account; now: LeaseNow; status: LeaseStatus | undefined }) {
  const { lease, machine } = now;
  const listed = useMachinesOf([lease.machine]).get(lease.machine);
  const secrets = Object.entries(secretsOf(formatLease(lease.id)));
  return (
    <section className="panel" aria-label="What it is">
      <Facts
        facts={[
          [
            "Machine",
            <LeasedShare
              key="machine"
              cells={cellsOf(lease.placement)}
              number={lease.machine}
              machine={listed}
              linked
            />,
          ],
          ["Its provider", <Address key="provider" address={machine.provider} />],
          ["Its tenant", <Address key="tenant" address={lease.tenant} />],
          ["Ends", <Time key="end" at={lease.end} />],
          status?.ports.length
            ? [
                "Ports",
                <ul key="ports" className="plain">
                  {status.ports.map((port) => (
                    <li key={`${port.container}/${port.protocol}`}>
                      {port.container}/{port.protocol}:{" "}
                      {port.protocol === "tcp" && status.host ? (
                        <a href={`http://${placeOf(status.host, port.host)}`} target="_blank" rel="noreferrer noopener">
                          {placeOf(status.host, port.host)}
                        </a>
                      ) : (
                        `${status.host ?? ""}:${port.host}`
                      )}
                    </li>
                  ))}
                </ul>,
              ]
            : undefined,
          status?.reason ? ["The machine says", status.reason] : undefined,
          status?.result_cid
            ? [
                "Results",
                <code key="cid" className="break">
                  {status.result_cid}
                </code>,
              ]
            : undefined,
          ...secrets.map(
            ([name, secret]) =>
              [
                `Secret ${name}`,
                <span key={name} className="line">
                  <code>••••••</code> <Copy text={secret} what={`the secret ${name}`} />
                </span>,
              ] as const,
          ),
        ]}
      />
    </section>
  );
}

/** An address of version 6 has colons of its own. */
function placeOf(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
