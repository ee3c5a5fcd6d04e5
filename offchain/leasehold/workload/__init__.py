"""What a lease runs: the specification, sealing to the machine's key, and the results.

workload = load_workload("train.toml", recipients=[own_recipient])
sealed = seal(workload, machine_recipient)
digest(sealed)                                  # goes on chain
unseal(sealed, machine_identity)                # in the agent
"""

from typing import TYPE_CHECKING

from leasehold._faces import face

if TYPE_CHECKING:
    from leasehold.workload._image import RegistryLogin, Ulimits, registry_of, repository_of
    from leasehold.workload._model import (
        UNSERVED_FIELDS,
        DatasetMount,
        Egress,
        HttpProbe,
        Port,
        Protocol,
        Readiness,
        Restart,
        Runtime,
        Share,
        VolumeMount,
        Workload,
        WorkloadKind,
        WorkloadOutput,
    )
    from leasehold.workload._results import Manifest, ManifestEntry, ResultFolder, fetch_results, pack_outputs
    from leasehold.workload._sealing import MAX_SEALED_BYTES, digest, load_workload, seal, unseal
    from leasehold.workload._volumes import volume_key

__all__ = [
    "MAX_SEALED_BYTES",
    "UNSERVED_FIELDS",
    "DatasetMount",
    "Egress",
    "HttpProbe",
    "Manifest",
    "ManifestEntry",
    "Port",
    "Protocol",
    "Readiness",
    "RegistryLogin",
    "Restart",
    "ResultFolder",
    "Runtime",
    "Share",
    "Ulimits",
    "VolumeMount",
    "Workload",
    "WorkloadKind",
    "WorkloadOutput",
    "digest",
    "fetch_results",
    "load_workload",
    "pack_outputs",
    "registry_of",
    "repository_of",
    "seal",
    "unseal",
    "volume_key",
]

_PARTS = {
    "_image": ("RegistryLogin", "Ulimits", "registry_of", "repository_of"),
    "_model": (
        "UNSERVED_FIELDS", "DatasetMount", "Egress", "HttpProbe", "Port", "Protocol", "Readiness", "Restart",
        "Runtime", "Share", "VolumeMount", "Workload", "WorkloadKind", "WorkloadOutput",
    ),
    "_results": ("Manifest", "ManifestEntry", "ResultFolder", "fetch_results", "pack_outputs"),
    "_sealing": ("MAX_SEALED_BYTES", "digest", "load_workload", "seal", "unseal"),
    "_volumes": ("volume_key",),
}  # fmt: skip
if not TYPE_CHECKING:
    __getattr__ = face(__name__, _PARTS)
