import type { MachineWhole } from "../../api/machines";
import type { Token } from "../../api/types";
import { formatDuration, formatFree, formatShare, formatSize } from "../../format";
import { Address } from "../../ui/Address";
import { Copy } from "../../ui/Copy";
import { Facts } from "../../ui/Facts";
import { Money } from "../../ui/Money";
import { Time } from "../../ui/Time";
import { memoryOf, perOf, unitOf } from "../market/words";

interface Props {
  readonly machine: MachineWhole;
  readonly token: Token | undefined;
}

/** What a machine is, asks and has at hand, and the documents that say so. */
export function MachineFacts({ machine, token }: Props) {
  const { hardware } = machine;
  const first = hardware?.gpus?.[0];
  return (
    <section className="panel rows" aria-label="What it is">
      <h2>What it is</h2>
      <Facts
        facts={[
          machine.class === null ? undefined : ["Class", machine.class],
          [
            `${unitOf(machine.kind)}s`,
            `${machine.gpus}, of which ${formatFree(machine.free_cells)} free; leased from ${formatShare(machine.smallest)} on`,
          ],
          machine.mem === null ? undefined : ["Memory of each", memoryOf(machine)],
          first?.pcie ? ["PCIe", `generation ${first.pcie.generation}, ${first.pcie.lanes} lanes`] : undefined,
          hardware === null ? undefined : ["Host", hostOf(hardware)],
          hardware?.driver ? ["Driver, CUDA", `${hardware.driver}, ${hardware.cuda ?? "unknown"}`] : undefined,
          machine.isolation.length > 0
            ? ["Shares are kept apart by", machine.isolation.map((way) => WAYS[way] ?? way).join(", or ")]
            : undefined,
          hardware?.fault_domain ? ["A fault of another tenant's ends", endsOf(hardware.fault_domain)] : undefined,
          ["Country, as its owner says", machine.location.country ?? "not said"],
          machine.missing === null ? undefined : ["Its documents", machine.missing],
        ]}
      />
      <h2>What it asks</h2>
      <Facts
        facts={[
          ["Price", <Money amount={machine.price} token={token} per={perOf(machine.kind)} places="exact" />],
          [
            "As spot",
            machine.spot_price === null ? (
              "not sold"
            ) : (
              <Money amount={machine.spot_price} token={token} per={perOf(machine.kind)} places="exact" />
            ),
          ],
          ["Leases", `from ${formatDuration(machine.min)} to ${formatDuration(machine.max)}`],
          ["Trial", machine.trial ? `${formatDuration(machine.trial)} after the start` : "none"],
          ["On offer until", <Time at={machine.available_until} />],
          ["Terms", `revision ${machine.revision}, under version ${machine.params} of the pool's parameters`],
        ]}
      />
      <h2>Whose it is</h2>
      <Facts
        facts={[
          ["Provider", <Address address={machine.provider} to={`/providers/${machine.provider}`} />],
          ["Operator: its agent's key", <Address address={machine.operator} />],
          ["Stake that answers for it", <Money amount={machine.stake} token={token} />],
          ["Agent last seen", machine.last_seen === null ? "never" : <Time at={machine.last_seen} past />],
          ["Hardware document", <Cid cid={machine.hardware_cid} />],
          ["Contact document", <Cid cid={machine.contact_cid} />],
        ]}
      />
      <h2>Images at hand</h2>
      {machine.images_cached.length === 0 ? (
        <p className="soft">None: whatever runs here is fetched first.</p>
      ) : (
        <ul className="image-list mono">
          {machine.images_cached.map((image) => (
            <li key={image}>
              <span title={image}>{image.split("@")[0]}</span> <Copy text={image} what="the image" />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Ways in which shares of one card are kept apart, by their words in the hardware document. */
const WAYS: Readonly<Record<string, string>> = {
  mig: "MIG, in hardware",
  mps: "MPS, side by side on the card",
  "time-slice": "time slices, by turns on the card",
};

function Cid({ cid }: { cid: string }) {
  return (
    <span className="address">
      <span className="mono" title={cid}>
        {cid.slice(0, 10)}…{cid.slice(-6)}
      </span>
      <Copy text={cid} what="the CID" />
    </span>
  );
}

function hostOf({ cpu, memory_bytes, disk }: NonNullable<MachineWhole["hardware"]>): string {
  return `${cpu.cores} cores of ${cpu.model}, ${formatSize(memory_bytes)} of memory, ${formatSize(disk.bytes)} of disk`;
}

function endsOf(domain: string): string {
  return domain === "card" ? "all work on the card" : "his own share alone";
}
