"""The documents that the chain names by their SHA-256: what a machine is (hardware) and how to reach it (contact).

They are written by strangers. Everything read from them is bounded, and nothing in them is believed about
money.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError

from leasehold.chain import Consent
from leasehold.fields import in_words
from leasehold.market._documents_cache import MAX_DOCUMENT_BYTES
from leasehold.market._errors import (
    ConsentUnfit,
    DocumentInvalid,
    MachineFileInvalid,
    MachineFileUnreadable,
)

_PLAIN: Final = r"^[^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]*$"
"""Nothing that steers a terminal, and no mark that turns the direction of what is written: behind one in a model's name
a page shows the price beside it the wrong way round.
"""
Text = Annotated[str, StringConstraints(max_length=256, pattern=_PLAIN)]
Address = Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{40}$")]
Bytes = Annotated[int, Field(ge=0, lt=2**63)]
Count = Annotated[int, Field(ge=0, lt=2**31)]
Model = TypeVar("Model", bound=BaseModel)


class _Document(BaseModel):
    # A later version of a document may carry more; what this version knows must have the right form.
    model_config = ConfigDict(frozen=True, extra="ignore")


class Clocks(_Document):
    """The highest that a card runs at, in MHz."""

    compute: Count | None = None
    memory: Count | None = None


class Pcie(_Document):
    """The most that a card and its slot can do together."""

    generation: Count | None = None
    lanes: Count | None = None


class LinkedGpu(_Document):
    """A card that another reaches by so many links of the cards' own: NVLink, AMD's xGMI."""

    uuid_hash: Text
    links: Count = 1


class MigState(_Document):
    """Whether a card can be cut up, and is."""

    capable: bool
    enabled: bool = False


class Gpu(_Document):
    """One card. `uuid_hash` is SHA-256 of the card's UUID in hex; `numa` is the host's node nearest to it, and
    `capability` CUDA's. What its host does not say is `None`.
    """

    model: Text
    memory_bytes: Bytes
    uuid_hash: Text = ""
    clock_mhz: Clocks | None = None
    pcie: Pcie | None = None
    numa: Count | None = None
    peers: Annotated[tuple[LinkedGpu, ...], Field(max_length=64)] | None = None
    mig: MigState | None = None
    ecc: bool | None = None
    power_watts: Count | None = None
    capability: Text | None = None


class Cpu(_Document):
    model: Text
    cores: Annotated[int, Field(ge=0, le=65_536)]


class Disk(_Document):
    """Space for leases; `quota` says whether the host can enforce a lease's share of it."""

    bytes: Bytes
    quota: bool


class DiskDevice(_Document):
    """A disk on which leases have their files. kind: `nvme`, `ssd`, `hdd`, or `virtual`, which a hypervisor gives."""

    model: Text
    bytes: Bytes
    kind: Text


class RdmaPort(_Document):
    """An InfiniBand or RoCE device of the host, and the rate of its fastest port."""

    name: Text
    gbits: Annotated[float, Field(ge=0, lt=1e6)]


class Hardware(_Document):
    """hardware.json, version 1. A host without a GPU sells `cpu_units` equal units instead.

    What it says of processors, memory and disk is the machine's part of its host, which was divided into `host_units`.
    isolation: by what shares of a card are kept apart; empty where cards are leased whole. fault_domain: what a fault
    of one tenant's work ends: his `share`, or all on the `card`. rdma: `None` where the host does not say. disks: those
    on which leases have their files; `None` as with `rdma`. architecture: of its processors, as images name them; empty
    where it does not say.
    """

    version: Literal[1]
    gpus: Annotated[tuple[Gpu, ...], Field(max_length=64)]
    cpu_units: Annotated[int, Field(ge=0, le=8)] = 0
    cpu: Cpu
    memory_bytes: Bytes
    disk: Disk
    runtimes: Annotated[tuple[Text, ...], Field(max_length=16)] = ()
    driver: Text | None = None
    cuda: Text | None = None
    isolation: Annotated[tuple[Text, ...], Field(max_length=16)] = ()
    fault_domain: Text | None = None
    rdma: Annotated[tuple[RdmaPort, ...], Field(max_length=64)] | None = None
    disks: Annotated[tuple[DiskDevice, ...], Field(max_length=64)] | None = None
    kernel: Text = ""
    architecture: Text = ""
    host_units: Annotated[int, Field(ge=0, le=65_536)] = 0


class Ssh(_Document):
    """Where the agent's SSH server listens; without `host` it is only behind the machine's IPFS node. `host_key` is an
    OpenSSH public key.
    """

    host: (
        Annotated[str, StringConstraints(max_length=256, pattern=r"^[A-Za-z0-9][A-Za-z0-9.:_-]*$")] | None
    ) = None
    port: Annotated[int, Field(ge=1, le=65_535)] = 22
    host_key: Annotated[
        str, StringConstraints(max_length=1_024, pattern=r"^[a-z0-9@.-]+ [A-Za-z0-9+/=]+( \S+)?$")
    ]


class Image(_Document):
    """An image that the host has at hand: starting it needs no download. What its owner has given a name may be had by
    its id; what came from a registry has a name with a digest, and by that alone.
    """

    id: Text
    name: Text = ""


class Location(_Document):
    """What the provider says about where the machine stands; nobody has checked it."""

    country: Annotated[str, StringConstraints(max_length=64, pattern=_PLAIN)] | None = None


class DiskSpeed(_Document):
    """Bytes a second of one file, written and read in turn."""

    read: Bytes
    write: Bytes

    @property
    def slower(self) -> int:
        return min(self.read, self.write)


class Measured(_Document):
    """What the host measured of itself, and when. down, up: bits a second from and to a peer elsewhere."""

    at: int = 0
    disk: DiskSpeed | None = None
    down: Bytes | None = None
    up: Bytes | None = None


PortNumber = Annotated[int, Field(ge=1, le=65_535)]


class EgressTerms(_Document):
    """What the host lets out of any lease, whatever its workload asks for. policy: `internet`, `residential` or `none`.
    refused_ports: at no address. destinations: new addresses and ports in a minute; down, up: bits a second; `None` is
    no limit.
    """

    policy: Text
    refused_ports: Annotated[tuple[PortNumber, ...], Field(max_length=64)] = ()
    destinations: Count | None = None
    down: Bytes | None = None
    up: Bytes | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """What it keeps from a lease, as its renter reads it; empty where that is nothing."""
        if self.policy == "none":
            return ("it lets nothing out",)
        said = []
        if self.refused_ports:
            said.append(f"no port {', '.join(map(str, self.refused_ports))} is reached")
        if self.destinations is not None:
            said.append(f"at most {self.destinations} new addresses and ports in a minute")
        for way, bits in (("down", self.down), ("up", self.up)):
            if bits is not None:
                said.append(f"{bits / 1e6:g} Mbit/s {way}")
        return tuple(said)


Moment = Annotated[int, Field(ge=0, lt=2**48)]


class Contact(_Document):
    """contact.json, version 1: what may change daily. ports: the first and the last that it publishes for leases.
    maintenance: when it will be worked on, from and to, unix seconds; leases that would reach into it are declined.
    egress: `None` where the host does not say.
    """

    version: Literal[1]
    endpoints: Annotated[tuple[Text, ...], Field(max_length=16)]
    certificate: Annotated[str, StringConstraints(max_length=32_768)]
    ssh: Ssh | None = None
    age_recipient: Annotated[str, StringConstraints(max_length=128, pattern=r"^age1[a-z0-9]+$")]
    peer_id: Text | None = None
    ipfs: Annotated[tuple[Text, ...], Field(max_length=64)] = ()
    images: Annotated[tuple[Image, ...], Field(max_length=4_096)] = ()
    datasets: Annotated[tuple[Text, ...], Field(max_length=4_096)] = ()
    ports: tuple[PortNumber, PortNumber] | None = None
    maintenance: Annotated[tuple[tuple[Moment, Moment], ...], Field(max_length=64)] = ()
    egress: EgressTerms | None = None
    location: Location = Location()
    measured: Measured | None = None
    operator: Text = ""
    issued_at: int = 0

    def maintenance_in(self, begin: int, end: int) -> tuple[int, int] | None:
        """The first window of which some lies in [begin, end)."""
        met = [window for window in self.maintenance if begin < window[1] and window[0] < end]
        return min(met, default=None)


class Suggested(_Document):
    """What to register. smallest_share: cells; no less than what the host can keep apart."""

    gpus: Annotated[int, Field(ge=1, le=8)]
    smallest_share: Literal[1, 2, 4, 8] = 8


class SignedConsent(_Document):
    """The operator's word that it serves `provider` in one pool until `deadline`; `proof` is in hexadecimal."""

    provider: Address
    controller: Address
    chain: Annotated[int, Field(ge=1)]
    deadline: Annotated[int, Field(ge=0, lt=2**64)]
    proof: Annotated[str, StringConstraints(pattern=r"^0x([0-9a-f]{2}){1,4096}$")]


class CheckedPart(_Document):
    """What the host found when it tried a part of itself; `bad` is what costs leases or stake."""

    name: Text
    state: Literal["ok", "warning", "bad"]
    text: Annotated[str, StringConstraints(max_length=1_024, pattern=_PLAIN)]


class MachineFile(_Document):
    """machine.json, as the agent on the host writes it.

    `hardware` and `contact` stay as written: the chain gets the digest of exactly their canonical bytes.
    """

    hardware: dict[str, JsonValue]
    contact: dict[str, JsonValue]
    operator: Address
    suggested: Suggested
    consent: SignedConsent
    check: Annotated[tuple[CheckedPart, ...], Field(max_length=256)] = ()

    @property
    def troubles(self) -> tuple[str, ...]:
        """What the host found to be bad when it described itself."""
        return tuple(part.text for part in self.check if part.state == "bad")

    @classmethod
    def of(cls, described: MachineFile | Path | str) -> MachineFile:
        """The file itself, or where it lies. Raises as `load`."""
        return described if isinstance(described, MachineFile) else cls.load(Path(described))

    @classmethod
    def load(cls, path: Path) -> MachineFile:
        """Read and check the file, its two documents included.

        Raises:
            DocumentInvalid: it cannot be read, or has another form.
        """
        try:
            raw = path.read_bytes()
        except OSError as error:
            reason = error.strerror or "it cannot be read"
            raise MachineFileUnreadable(str(path), reason) from error
        return cls.read(raw, str(path))

    @classmethod
    def read(cls, raw: bytes, what: str) -> MachineFile:
        """Check what a host has written, its two documents included. what: where it came from, for sentences.

        Raises:
            DocumentInvalid: it has another form.
        """
        loaded = parse_document(cls, raw, what, MachineFileInvalid)
        parse_document(Hardware, canonical(loaded.hardware), f"{what}, hardware", MachineFileInvalid)
        parse_document(Contact, canonical(loaded.contact), f"{what}, contact", MachineFileInvalid)
        return loaded

    @property
    def facts(self) -> Hardware:
        """What the hardware document says. Raises MachineFileInvalid."""
        return parse_document(Hardware, canonical(self.hardware), "The hardware document", MachineFileInvalid)

    def consent_for(self, provider: str, controller: str, now: int) -> Consent:
        """What the operator signed for this provider in this pool.

        Raises:
            ConsentUnfit: it signed for another, or long ago.
        """
        signed = self.consent
        if signed.provider.lower() != provider.lower():
            raise ConsentUnfit("That host", f" serves {signed.provider}, not {provider}", provider)
        if signed.controller.lower() != controller.lower():
            raise ConsentUnfit("That host", f" serves the pool {signed.controller}, not this one", provider)
        if signed.deadline < now:
            raise ConsentUnfit("What the host's key signed", " is too old to be used", provider)
        return Consent(signed.deadline, bytes.fromhex(signed.proof[2:]))


def canonical(document: object) -> bytes:
    """Canonical JSON: keys sorted, no spaces, UTF-8."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def parse_document(
    model: type[Model], raw: bytes, what: str, wrong: type[DocumentInvalid] = DocumentInvalid
) -> Model:
    """Read a document. wrong: what is raised for one of another form.

    Raises:
        DocumentInvalid: naming `what` and the first field that is wrong.
    """
    if len(raw) > MAX_DOCUMENT_BYTES:
        raise wrong(what, " is larger than 1 MiB, which no such document is")
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        raise wrong(what, f": {where}: {in_words(first['msg'])};") from error
