"""The machine beneath the engine: its files, its disk, its networks, what it has to sell, and its keys.

Each file stands on none but those before it:

    _trees          folders that strangers filled, taken away
    _processes      ending a process that may be another's by now, writing to it, reading from it
    _netns          connections made from inside another network namespace
    _subnets        addresses that nothing on the host has a use for
    _egress         what the owner lets any lease do on his network
    _firewall       what each lease may reach, as one nftables table
    _disk_limits    whether the file system holds containers to their limits
    _disk_reserve   room on the disk that nobody else gets
    _disks          what is plugged in, and what lies on it
    _host_tools     programs of the host's, and none for ever
    _mount_space    mounts as the engine sees them
    _unpacker       a program by itself, which writes a folder of code
    _code_writer    who runs that
    _write_back     dirty pages, on their way to the disk
    _fscrypt        folders that the kernel keeps encrypted
    _sealed_disk    a volume's disk
    _bounded        calls that may never come back
    _card           what is known of a card
    _pci            cards on the bus, whether a driver answers or not
    _nvidia         NVIDIA's cards, by NVML
    _slices         slices of them, and who computes on a card
    _amd            AMD's cards, by amdsmi
    _vendors        whose cards are known
    _inventory      what there is to sell
    _identity       the host's own keys
    _hours          hours of the week in which cells are sold
    _maintenance    windows in which no lease is to be here
    _readings       what cards do now
    _health         which of them are ill
    _lease_usage    what a container uses
    _host_memory    whom the kernel ended when the host's memory ran out
"""

from leasehold_agent.host._bounded import bounded
from leasehold_agent.host._card import Card, SilentCard, hash_of
from leasehold_agent.host._code_writer import (
    CodeTarget,
    CodeWriter,
    LayerPlace,
    packed_entry,
    packed_part,
)
from leasehold_agent.host._disk_limits import DiskLimits
from leasehold_agent.host._disk_reserve import DISK_TROUBLE, DiskReserve
from leasehold_agent.host._disks import Disks, HostDisk, slow_ones
from leasehold_agent.host._egress import HostEgress, LeasePace, Policy, egress_of
from leasehold_agent.host._firewall import (
    BRIDGE_PREFIX,
    PRIVATE_V4,
    PRIVATE_V6,
    Firewall,
    HostPolicy,
    LeasePolicy,
    parse_rule,
)
from leasehold_agent.host._health import SILENT, Ailment, CardWard
from leasehold_agent.host._host_memory import HostMemory
from leasehold_agent.host._hours import Hours, parse_hours
from leasehold_agent.host._identity import Identity, load_identity
from leasehold_agent.host._inventory import (
    MAX_GPUS,
    Inventory,
    architecture,
    default_address,
    runtimes,
    take_inventory,
)
from leasehold_agent.host._lease_usage import LeaseUsage, containers_of, usage_of
from leasehold_agent.host._maintenance import MaintenanceWindow, parse_windows
from leasehold_agent.host._mount_space import MountSpace
from leasehold_agent.host._netns import busy_ports, connect
from leasehold_agent.host._processes import end_process_of, input_pipe_of, output_pipe_of
from leasehold_agent.host._readings import CardLook, CardReading, CardWatch, Silence
from leasehold_agent.host._sealed_disk import SealedDisk
from leasehold_agent.host._slices import mig_devices, mig_enabled, processes_on, takes_many
from leasehold_agent.host._subnets import BLOCK_BITS, LEASE_NETWORKS, AddressBlocks
from leasehold_agent.host._trees import remove_tree, tree_size
from leasehold_agent.host._write_back import write_back

__all__ = [
    "BLOCK_BITS",
    "BRIDGE_PREFIX",
    "DISK_TROUBLE",
    "LEASE_NETWORKS",
    "MAX_GPUS",
    "PRIVATE_V4",
    "PRIVATE_V6",
    "SILENT",
    "AddressBlocks",
    "Ailment",
    "Card",
    "CardLook",
    "CardReading",
    "CardWard",
    "CardWatch",
    "CodeTarget",
    "CodeWriter",
    "DiskLimits",
    "DiskReserve",
    "Disks",
    "Firewall",
    "HostDisk",
    "HostEgress",
    "HostMemory",
    "HostPolicy",
    "Hours",
    "Identity",
    "Inventory",
    "LayerPlace",
    "LeasePace",
    "LeasePolicy",
    "LeaseUsage",
    "MaintenanceWindow",
    "MountSpace",
    "Policy",
    "SealedDisk",
    "Silence",
    "SilentCard",
    "architecture",
    "bounded",
    "busy_ports",
    "connect",
    "containers_of",
    "default_address",
    "egress_of",
    "end_process_of",
    "hash_of",
    "input_pipe_of",
    "load_identity",
    "mig_devices",
    "mig_enabled",
    "output_pipe_of",
    "packed_entry",
    "packed_part",
    "parse_hours",
    "parse_rule",
    "parse_windows",
    "processes_on",
    "remove_tree",
    "runtimes",
    "slow_ones",
    "take_inventory",
    "takes_many",
    "tree_size",
    "usage_of",
    "write_back",
]
