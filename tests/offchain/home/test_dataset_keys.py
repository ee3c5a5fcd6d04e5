"""A dataset that was sealed here can be opened by what mounts it from here."""

from __future__ import annotations

from pathlib import Path

from leasehold.datasets import new_identity
from leasehold.home import DatasetKeys
from leasehold.workload import load_workload

SEALED = "bafkreihxehmtc76aff6kwyqjpspery6rrvmwsbinulax6qxf4gvyxhxmwm"
PUBLIC = "bafybeifzeoucocjs5lkdwtu4uwkwudku7n3wamuiuao3623yha2ey76uxu"


def test_what_was_sealed_here_gets_its_key_and_what_has_one_keeps_it(tmp_path: Path) -> None:
    kept, own = new_identity(), new_identity()
    keys = DatasetKeys(tmp_path)
    keys.keep(SEALED, kept)
    mounts = [
        {"cid": SEALED, "path": "/a"}, {"cid": PUBLIC, "path": "/b"}, {"cid": SEALED, "path": "/c", "key": own},
    ]  # fmt: skip
    workload = load_workload({"version": 1, "image": "sha256:" + "ab" * 32, "datasets": mounts})
    assert [mount.key for mount in keys.given_to(workload).datasets] == [kept, None, own]
