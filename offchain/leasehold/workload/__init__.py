"""What a lease runs: the specification, sealing to the machine's key, and the results.

workload = load_workload("train.toml", recipients=[own_recipient])
sealed = seal(workload, machine_recipient)
digest(sealed)                                  # goes on chain
unseal(sealed, machine_identity)                # in the agent
"""

from typing import TYPE_CHECKING

from leasehold._faces import face

if TYPE_CHECKING:
    from leasehold.workload._code_folder import CodeContents, CodeFolder, KnownFiles, survey
    from leasehold.workload._code_packs import MAX_PACKED, Unpacked, fold, packs, unfolded, unpacked
    from leasehold.workload._code_tree import MAX_CODE_TREE, CodeEntry, CodeKind, CodeTree
    from leasehold.workload._image import RegistryLogin, Ulimits
    from leasehold.workload._model import (
        UNSERVED_FIELDS,
        Checkpoint,
        Code,
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
    from leasehold.workload._results_chosen import NoSuchResult, ResultInGit, ResultsUnasked
    from leasehold.workload._sealing import MAX_SEALED_BYTES, digest, load_workload, seal, unseal
    from leasehold.workload._template import Template, TemplateUnknown, all_templates, find_template
    from leasehold.workload._volumes import volume_key

__all__ = [
    "MAX_CODE_TREE",
    "MAX_PACKED",
    "MAX_SEALED_BYTES",
    "UNSERVED_FIELDS",
    "Checkpoint",
    "Code",
    "CodeContents",
    "CodeEntry",
    "CodeFolder",
    "CodeKind",
    "CodeTree",
    "DatasetMount",
    "Egress",
    "HttpProbe",
    "KnownFiles",
    "Manifest",
    "ManifestEntry",
    "NoSuchResult",
    "Port",
    "Protocol",
    "Readiness",
    "RegistryLogin",
    "Restart",
    "ResultFolder",
    "ResultInGit",
    "ResultsUnasked",
    "Runtime",
    "Share",
    "Template",
    "TemplateUnknown",
    "Ulimits",
    "Unpacked",
    "VolumeMount",
    "Workload",
    "WorkloadKind",
    "WorkloadOutput",
    "all_templates",
    "digest",
    "fetch_results",
    "find_template",
    "fold",
    "load_workload",
    "pack_outputs",
    "packs",
    "seal",
    "survey",
    "unfolded",
    "unpacked",
    "unseal",
    "volume_key",
]

_PARTS = {
    "_code_folder": ("CodeContents", "CodeFolder", "KnownFiles", "survey"),
    "_code_packs": ("MAX_PACKED", "Unpacked", "fold", "packs", "unfolded", "unpacked"),
    "_code_tree": ("MAX_CODE_TREE", "CodeEntry", "CodeKind", "CodeTree"),
    "_image": ("RegistryLogin", "Ulimits"),
    "_model": (
        "UNSERVED_FIELDS", "Checkpoint", "Code", "DatasetMount", "Egress", "HttpProbe", "Port", "Protocol",
        "Readiness", "Restart", "Runtime", "Share", "VolumeMount", "Workload", "WorkloadKind",
        "WorkloadOutput",
    ),
    "_results": ("Manifest", "ManifestEntry", "ResultFolder", "fetch_results", "pack_outputs"),
    "_results_chosen": ("NoSuchResult", "ResultInGit", "ResultsUnasked"),
    "_sealing": ("MAX_SEALED_BYTES", "digest", "load_workload", "seal", "unseal"),
    "_template": ("Template", "TemplateUnknown", "all_templates", "find_template"),
    "_volumes": ("volume_key",),
}  # fmt: skip
if not TYPE_CHECKING:
    __getattr__ = face(__name__, _PARTS)
