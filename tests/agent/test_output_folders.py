"""Which folders a command finds made for its outputs."""

from leasehold.workload import load_workload
from leasehold_agent.reconciling._creation import output_folders


def test_a_folder_is_made_and_a_files_parent() -> None:
    outputs = [{"path": "/outputs", "public": True}, {"path": "/work/model.bin", "public": True}]
    workload = load_workload({"version": 1, "image": "sha256:" + "0" * 64, "outputs": outputs})
    assert output_folders(workload) == ["/outputs", "/work"]


def test_the_root_is_never_made() -> None:
    outputs = [{"path": "/model.bin", "public": True}]
    workload = load_workload({"version": 1, "image": "sha256:" + "0" * 64, "outputs": outputs})
    assert output_folders(workload) == []
