"""From a workload to a container, to its rules, and what is refused on the way: pure functions."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import docker
import pytest

from leasehold.chain import LeaseState
from leasehold.workload import Workload, load_workload
from leasehold_agent._config import AgentSettings
from leasehold_agent._errors import Declined, NetworkError
from leasehold_agent.cards import LeaseShare, Place
from leasehold_agent.chain import Desired
from leasehold_agent.engine import DEVICES_LABEL, SHARING_LABEL, ContainerSpec, EngineFacts
from leasehold_agent.engine._containers import device_request, facts_of, options_of
from leasehold_agent.engine._facts import cdi_folders, groups_of
from leasehold_agent.host import Firewall, HostPolicy, LeasePolicy, parse_rule
from leasehold_agent.host._firewall import Rule, bridge_name, render
from leasehold_agent.reconciling import Names
from leasehold_agent.reconciling._container_spec import (
    check_apart,
    check_fits,
    check_tenant,
    choose_ports,
    policy_of,
    spec_of,
)

CONTROLLER = "0x8e80FFe6Dc044F4A766Afd6e5a8732Fe0977A493"
NAMES = Names(31337, "0x" + "ab" * 32, CONTROLLER)
TENANT = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
LEASE = 12 << 16 | 1
IMAGE = "sha256:" + "1" * 64
SHARE = LeaseShare(cpus=2.0, memory_bytes=4 << 30, disk_bytes=10 << 30, gpu_uuids=("GPU-1",))
FACTS = EngineFacts(quota=True, runtimes=("runc",), root=Path("/none"))
SETTINGS = AgentSettings.model_validate({"first_port": 100, "last_port": 102})
DESIRED = Desired(
    lease=LEASE,
    machine=3,
    tenant=TENANT,
    state=LeaseState.OPENED,
    placement=0x01FF,
    workload=bytes(32),
    start=0,
    end=0,
    window_ends=0,
    author=TENANT,
)


def workload(**fields: object) -> Workload:
    return load_workload({"version": 1, "image": IMAGE, **fields})


class TestNames:
    def test_a_label_leads_back_to_its_lease(self) -> None:
        labels = {"leasehold.lease": NAMES.label(LEASE, 3), "leasehold.genesis": NAMES.genesis}
        assert labels["leasehold.lease"] == f"eip155:31337/{CONTROLLER}/{LEASE}@3"
        assert NAMES.lease_of(labels) == (LEASE, 3)

    @pytest.mark.parametrize(
        "changed",
        [
            {"leasehold.genesis": "0x" + "cd" * 32},
            {"leasehold.lease": f"eip155:1/{CONTROLLER}/{LEASE}@3"},
            {"leasehold.lease": f"eip155:31337/0x{'11' * 20}/{LEASE}@3"},
            {"leasehold.lease": f"eip155:31337/{CONTROLLER}/x@3"},
            {"leasehold.lease": f"eip155:31337/{CONTROLLER}/{LEASE}@"},
            {"leasehold.lease": "nonsense"},
            {"leasehold.lease": ""},
        ],
    )
    def test_nothing_of_anothers_is_ours(self, changed: dict[str, str]) -> None:
        labels = {"leasehold.lease": NAMES.label(LEASE, 3), "leasehold.genesis": NAMES.genesis}
        assert NAMES.lease_of({**labels, **changed}) is None

    def test_names_are_one_for_each_lease_and_history(self) -> None:
        other = replace(NAMES, genesis="0x" + "cd" * 32)
        assert NAMES.container(LEASE).startswith("leasehold-12.1-")
        assert len({NAMES.container(LEASE), other.container(LEASE), NAMES.container(LEASE + 1)}) == 3
        assert NAMES.folder != other.folder
        assert len(NAMES.bridge(LEASE)) <= 15
        assert len(bridge_name(NAMES.label(LEASE, 3))) <= 15


class TestFit:
    @pytest.mark.parametrize(
        ("fields", "named"),
        [
            ({"cpu": 2.5}, "cpu"),
            ({"memory": "5GiB"}, "memory"),
            ({"disk": "11GiB"}, "disk"),
            ({"shm": "5GiB"}, "shm"),
            ({"runtime": "gvisor"}, "runtime"),
            ({"share": "cells"}, "share"),
            ({"ports": [{"container": 80, "host": 99}]}, "ports"),
        ],
    )
    def test_what_is_not_offered_is_named(self, fields: dict[str, object], named: str) -> None:
        with pytest.raises(Declined, match=named) as refused:
            check_fits(workload(**fields), 0x01FF, SHARE, FACTS, SETTINGS)
        assert refused.value.reason == "unsupported"

    def test_what_fits(self) -> None:
        fields = {"cpu": 2, "memory": "4GiB", "share": "whole", "ports": [{"container": 80, "host": 100}]}
        check_fits(workload(**fields), 0x01FF, SHARE, FACTS, SETTINGS)
        check_fits(workload(share="cells"), 0x0103, replace(SHARE, gpu_uuids=()), FACTS, SETTINGS)

    def test_a_card_that_is_lost_says_nothing_of_what_it_could_offer(self) -> None:
        """Or a lease whose workload is replaced meanwhile would never run again, and be billed to its end."""
        lost, timed = (
            replace(SHARE, gpu_uuids=(), problem="GPU 0 does not answer."),
            workload(share="time-slice"),
        )
        with pytest.raises(Declined) as error:
            check_fits(timed, 0x0103, lost, FACTS, SETTINGS)
        assert error.value.reason == "no-card"
        gvisor = replace(FACTS, runtimes=("runc", "runsc"))
        check_fits(workload(runtime="gvisor"), 0x01FF, SHARE, gvisor, SETTINGS)

    def test_parts_of_a_card_are_not_kept_apart(self) -> None:
        with pytest.raises(Declined, match="whole GPUs") as refused:
            check_fits(workload(), 0x010F, SHARE, FACTS, SETTINGS)
        assert refused.value.reason == "unsupported"

    def test_slices_that_the_hardware_keeps_apart(self) -> None:
        cut = replace(SHARE, cut=True, cells=0x0F)
        for share in (None, "cells", "mig"):
            check_fits(workload(share=share), 0x010F, cut, FACTS, SETTINGS)
        check_fits(workload(share="mig"), 0x01FF, cut, FACTS, SETTINGS)
        with pytest.raises(Declined, match="holds its GPUs"):
            check_fits(workload(share="mig"), 0x01FF, SHARE, FACTS, SETTINGS)
        two = replace(SHARE, gpu_uuids=("GPU-1", "GPU-2"))
        check_fits(workload(), 0x03FF, two, FACTS, SETTINGS)
        with pytest.raises(Declined, match="rent one GPU"):
            check_fits(workload(), 0x03FF, replace(two, stays_cut=True), FACTS, SETTINGS)
        unsold = SETTINGS.model_copy(update={"isolation": "whole"})
        with pytest.raises(Declined, match="whole GPUs"):
            check_fits(workload(), 0x010F, cut, FACTS, unsold)

    def test_time_on_a_card_only_by_name_and_where_its_owner_offers_it(self) -> None:
        offered = SETTINGS.model_copy(update={"isolation": "time-slice"})
        part, asked = replace(SHARE, cells=0x0F), workload(share="time-slice")
        check_fits(asked, 0x010F, part, FACTS, offered)
        for share in (None, "cells", "mig", "whole"):
            with pytest.raises(Declined, match="ask for `time-slice` by name") as refused:
                check_fits(workload(share=share), 0x010F, part, FACTS, offered)
            assert refused.value.reason == "unsupported"
        for isolation in ("auto", "whole", "mig"):
            with pytest.raises(Declined, match="whole GPUs"):
                check_fits(asked, 0x010F, part, FACTS, SETTINGS.model_copy(update={"isolation": isolation}))
        with pytest.raises(Declined, match="whole GPUs"):  # its driver says not who computes
            check_fits(asked, 0x010F, replace(part, watched=False), FACTS, offered)

    def test_time_is_asked_for_where_there_is_none(self) -> None:
        """Of a whole card, of a slice that the hardware keeps apart, of a machine without cards."""
        offered, asked = SETTINGS.model_copy(update={"isolation": "time-slice"}), workload(share="time-slice")
        for placement, share in (
            (0x01FF, SHARE),
            (0x010F, replace(SHARE, cells=0x0F, cut=True)),
            (0x010F, replace(SHARE, cells=0x0F, gpu_uuids=())),
        ):
            with pytest.raises(Declined, match="not `time-slice`"):
                check_fits(asked, placement, share, FACTS, offered)
        check_fits(workload(), 0x01FF, SHARE, FACTS, offered)

    def test_a_lease_that_has_become_a_part_of_a_card(self) -> None:
        """Whoever has a whole card and resizes it would have all of it still, at an eighth of its price."""
        with pytest.raises(Declined, match="by name"):
            check_apart(workload(), replace(SHARE, cells=0x01))
        check_apart(workload(share="time-slice"), replace(SHARE, cells=0x01))
        check_apart(workload(), replace(SHARE, cells=0x01, cut=True))
        check_apart(workload(), SHARE)

    def test_parts_by_mps_whose_limits_hold(self) -> None:
        """For whoever has a part; never by another name, nor under a kernel that keeps the way to the server closed."""
        offered = SETTINGS.model_copy(update={"isolation": "mps"})
        part = replace(SHARE, cells=0x0F, mps="hard")
        for share in (None, "cells", "mps"):
            check_fits(workload(share=share), 0x010F, part, FACTS, offered)
        for share in ("mig", "whole", "time-slice"):
            with pytest.raises(Declined, match="by MPS, not by"):
                check_fits(workload(share=share), 0x010F, part, FACTS, offered)
        gvisor = replace(FACTS, runtimes=("runc", "runsc"))
        with pytest.raises(Declined, match="gVisor keeps out"):
            check_fits(workload(runtime="gvisor"), 0x010F, part, gvisor, offered)
        check_fits(workload(runtime="gvisor"), 0x01FF, SHARE, gvisor, offered)
        for placement, share_ in ((0x01FF, SHARE), (0x010F, replace(SHARE, cells=0x0F, cut=True))):
            with pytest.raises(Declined, match="not `mps`"):
                check_fits(workload(share="mps"), placement, share_, FACTS, offered)

    def test_parts_by_mps_whose_limits_bind_who_keeps_to_them(self) -> None:
        offered = SETTINGS.model_copy(update={"isolation": "mps"})
        part = replace(SHARE, cells=0x0F, mps="cooperative")
        check_fits(workload(share="mps"), 0x010F, part, FACTS, offered)
        for share in (None, "cells", "mig", "time-slice"):
            with pytest.raises(Declined, match="ask for `mps` by name"):
                check_fits(workload(share=share), 0x010F, part, FACTS, offered)

    def test_a_workload_for_other_leases(self) -> None:
        check_tenant(workload(), DESIRED)
        check_tenant(workload().for_tenant(TENANT.lower()), DESIRED)
        with pytest.raises(Declined, match="another account"):
            check_tenant(workload().for_tenant(CONTROLLER), DESIRED)


class TestPorts:
    def test_asked_for_and_chosen(self) -> None:
        asked = workload(ports=[{"container": 80}, {"container": 53, "host": 100, "protocol": "udp"}])
        assert choose_ports(asked, {101}, SETTINGS) == {(80, "tcp"): 102, (53, "udp"): 100}

    @pytest.mark.parametrize(
        ("ports", "taken"),
        [([{"container": 80, "host": 101}], {101}), ([{"container": 80}], {100, 101, 102})],
    )
    def test_taken(self, ports: list[dict[str, int]], taken: set[int]) -> None:
        with pytest.raises(Declined) as refused:
            choose_ports(workload(ports=ports), taken, SETTINGS)
        assert refused.value.reason == "port-taken"


class TestSpec:
    def make(
        self, asked: Workload, *, quota: bool = True, share: LeaseShare = SHARE, facts: EngineFacts = FACTS
    ) -> ContainerSpec:
        return spec_of(
            DESIRED,
            asked,
            NAMES,
            image=IMAGE,
            share=share,
            devices=share.gpu_uuids,
            facts=replace(facts, quota=quota),
            mounts=[],
            ports={},
            settings=SETTINGS,
        )

    def test_the_share_where_nothing_is_asked(self) -> None:
        spec = self.make(workload())
        wanted = {"cpus": 2.0, "memory_bytes": 4 << 30, "disk_bytes": 10 << 30, "gpu_uuids": ("GPU-1",)}
        assert {name: getattr(spec, name) for name in wanted} == wanted
        assert spec.environment["LEASEHOLD_LEASE"] == "12.1"
        assert spec.hostname == "lease-12-1"

    def test_less_where_less_is_asked_and_no_promise_that_cannot_be_kept(self) -> None:
        spec = self.make(workload(cpu=1, memory="1GiB", disk="1GiB"), quota=False)
        assert (spec.cpus, spec.memory_bytes) == (1, 1 << 30)
        assert spec.disk_bytes is None

    @pytest.mark.parametrize(("asked", "given"), [(None, 2 << 30), ("1GiB", 1 << 30), ("4GiB", 4 << 30)])
    def test_shared_memory_is_half_of_the_leases_unless_asked(self, asked: str | None, given: int) -> None:
        assert self.make(workload(**{"shm": asked} if asked else {})).shm_bytes == given

    def test_shared_memory_of_less_memory_is_less(self) -> None:
        assert self.make(workload(memory="1GiB")).shm_bytes == 512 << 20
        assert (
            self.make(workload(shm="3GiB"), share=replace(SHARE, memory_bytes=2 << 30)).shm_bytes == 2 << 30
        )

    def test_what_the_image_says_where_the_workload_says_nothing(self) -> None:
        spec = self.make(workload())
        assert (spec.entrypoint, spec.workdir, spec.user, spec.ulimits) == (None, None, None, {})

    def test_what_the_workload_says_in_its_place(self) -> None:
        said = {"entrypoint": ["/init"], "workdir": "/srv", "user": "1000:100", "hostname": "trainer"}
        spec = self.make(workload(**said))
        assert (list(spec.entrypoint or ()), spec.workdir, spec.user) == (["/init"], "/srv", "1000:100")
        assert spec.hostname == "trainer"

    def test_no_more_is_locked_than_the_lease_has_memory(self) -> None:
        limits = {"nofile": 1 << 20, "memlock": "unlimited", "stack": "8GiB"}
        assert self.make(workload(ulimits=limits)).ulimits == {
            "nofile": 1 << 20,
            "memlock": 4 << 30,
            "stack": 4 << 30,
        }
        assert self.make(workload(ulimits={"memlock": "1MiB"})).ulimits == {"memlock": 1 << 20}

    @pytest.mark.parametrize(("cpus", "pids"), [(0.01, 256), (2.0, 2_048), (64.0, 4_096)])
    def test_no_more_processes_than_its_cores_can_end(self, cpus: float, pids: int) -> None:
        assert self.make(workload(), share=replace(SHARE, cpus=cpus)).pids == pids

    def test_no_resolver_where_nothing_may_leave(self) -> None:
        """An empty list would be the host's own resolver, asked by the engine from the host's network."""
        assert self.make(workload(egress="none")).dns == ("127.0.0.1",)

    def test_so_little_processor_that_the_engine_would_not_limit_it(self) -> None:
        assert self.make(workload(cpu=1e-12)).cpus == 0.01

    @pytest.mark.parametrize(("gpus", "seen"), [(("GPU-1", "GPU-2"), "GPU-1,GPU-2"), ((), "void")])
    def test_no_other_card_by_a_variable(self, gpus: tuple[str, ...], seen: str) -> None:
        asked = workload(env={"NVIDIA_VISIBLE_DEVICES": "all"})
        spec = self.make(asked, share=replace(SHARE, gpu_uuids=gpus))
        assert spec.environment["NVIDIA_VISIBLE_DEVICES"] == seen

    @pytest.mark.parametrize(
        ("devices", "requests"),
        [((), [("nvidia", ["GPU-1"])]), (("/dev/kfd", "/dev/dri/renderD128"), [])],
    )
    def test_a_card_by_its_runtime_or_by_its_files(
        self, devices: tuple[str, ...], requests: list[tuple[str, list[str]]]
    ) -> None:
        spec = replace(self.make(workload(), quota=False), devices=devices)
        client = docker.APIClient("http://127.0.0.1:1", version="1.41")
        host = options_of(client, spec)["host_config"]
        client.close()
        asked = [(request["Driver"], request["DeviceIDs"]) for request in host.get("DeviceRequests") or ()]
        assert asked == requests
        given = [(device["PathOnHost"], device["CgroupPermissions"]) for device in host.get("Devices") or ()]
        assert given == [(path, "rwm") for path in devices]


class TestDevices:
    """Cards are added by the engine itself where it knows how, else by NVIDIA's runtime."""

    def spec(self, cdi: bool, *devices: str) -> ContainerSpec:
        made = TestSpec().make(workload(), share=replace(SHARE, gpu_uuids=devices))
        return replace(made, cdi=cdi)

    def test_by_a_request_to_the_runtime(self) -> None:
        asked = device_request(self.spec(False, "GPU-1", "MIG-2"))
        assert asked["Driver"] == "nvidia"
        assert asked["DeviceIDs"] == ["GPU-1", "MIG-2"]
        assert asked["Capabilities"] == [["gpu"]]

    def test_by_cdi(self) -> None:
        asked = device_request(self.spec(True, "GPU-1"))
        assert (asked["Driver"], asked["DeviceIDs"]) == ("cdi", ["nvidia.com/gpu=GPU-1"])

    def test_its_place_on_a_card_that_others_compute_on(self, tmp_path: Path) -> None:
        """Its door cannot be written to, and what the tenant says of it in his workload counts for nothing."""
        place = Place(
            ((tmp_path, "/run/x/lease_7"),), {"CUDA_MPS_PIPE_DIRECTORY": "/run/x/lease_7"}, "/leasehold/7"
        )
        asked = workload(env={"CUDA_MPS_PIPE_DIRECTORY": "/run/x"})
        spec = spec_of(
            DESIRED, asked, NAMES, image=IMAGE, share=SHARE, devices=("GPU-1",), facts=FACTS,
            mounts=[(tmp_path, "/data")], ports={}, settings=SETTINGS, place=place,
        )  # fmt: skip
        assert spec.environment["CUDA_MPS_PIPE_DIRECTORY"] == "/run/x/lease_7"
        host = options_of(docker.APIClient(version="1.44"), replace(spec, disk_bytes=None))["host_config"]
        assert host["CgroupParent"] == "/leasehold/7"
        assert {(m["Target"], m["ReadOnly"]) for m in host["Mounts"]} == {
            ("/data", True),
            ("/run/x/lease_7", True),
        }
        assert host["ShmSize"] > 0
        spec = replace(spec, shm=tmp_path, group=None, disk_bytes=None)
        host = options_of(docker.APIClient(version="1.44"), spec)["host_config"]
        assert "CgroupParent" not in host
        assert [m["Target"] for m in host["Mounts"] if not m["ReadOnly"]] == ["/dev/shm"]
        assert not host.get("ShmSize")

    @pytest.mark.parametrize(
        ("info", "groups"),
        [
            ({"CgroupVersion": "2", "CgroupDriver": "systemd"}, "systemd"),
            ({"CgroupVersion": "2", "CgroupDriver": "cgroupfs"}, "cgroupfs"),
            ({"CgroupVersion": "1", "CgroupDriver": "cgroupfs"}, None),
            ({"CgroupVersion": "2", "CgroupDriver": "none"}, None),
            ({}, None),
        ],
    )
    def test_who_makes_the_engines_control_groups(self, info: dict[str, str], groups: str | None) -> None:
        assert groups_of(info) == groups

    @pytest.mark.parametrize(
        ("labels", "requests", "devices"),
        [
            ({DEVICES_LABEL: "GPU-1,MIG-2"}, None, ("GPU-1", "MIG-2")),
            ({DEVICES_LABEL: ""}, None, ()),
            ({}, [{"DeviceIDs": ["GPU-1"]}, {"DeviceIDs": None}], ("GPU-1",)),
            (None, None, ()),
        ],
    )
    def test_what_a_container_has(
        self, labels: dict[str, str] | None, requests: object, devices: tuple[str, ...]
    ) -> None:
        state = {"Status": "exited", "ExitCode": 0, "Pid": 0}
        raw = {
            "Id": "1", "Name": "/a", "State": state, "NetworkSettings": {"Networks": {}},
            "Config": {"Labels": labels}, "HostConfig": {"DeviceRequests": requests},
        }  # fmt: skip
        assert facts_of(raw).devices == devices
        if devices:
            spec = TestSpec().make(workload(), share=replace(SHARE, gpu_uuids=devices))
            assert spec.labels[DEVICES_LABEL] == ",".join(devices)

    def test_whether_it_has_them_alone(self) -> None:
        """The label is there in any case: an image that has one of its own would have it said of the container."""
        part, asked = replace(SHARE, cells=0x0F), workload(share="time-slice")
        specs = [TestSpec().make(w, share=s) for w, s in ((asked, part), (workload(), SHARE), (asked, SHARE))]
        assert [spec.labels[SHARING_LABEL] for spec in specs] == ["time-slice", "", ""]
        by_mps = TestSpec().make(workload(), share=replace(part, mps="hard"))
        assert by_mps.labels[SHARING_LABEL] == "mps"

    def test_where_the_engine_knows_all_of_them(self, tmp_path: Path) -> None:
        """A slice that was made since its toolkit wrote them down is not among them."""
        (tmp_path / "nvidia.yaml").write_text('kind: nvidia.com/gpu\ndevices:\n- name: "0"\n- name: GPU-1\n')
        (tmp_path / "other.yaml").write_text("- name: GPU-3\n")
        facts = replace(FACTS, cdi=(tmp_path, tmp_path / "none"))
        assert [facts.adds(devices) for devices in (["GPU-1"], ["GPU-1", "MIG-2"], ["GPU-3"], [])] == [
            True,
            False,
            False,
            False,
        ]
        spec = TestSpec().make(workload(), facts=facts)
        assert (spec.cdi, spec.environment["NVIDIA_VISIBLE_DEVICES"]) == (True, "void")

    @pytest.mark.parametrize(
        ("version", "folders"),
        [("25.0.3", ()), ("26.1.5", ("/etc/cdi",)), ("29.0.0-rc.1", ("/etc/cdi",)), ("", ())],
    )
    def test_since_which_engine(self, version: str, folders: tuple[str, ...]) -> None:
        info = {"ServerVersion": version, "CDISpecDirs": ["/etc/cdi"]}
        assert cdi_folders(info) == tuple(map(Path, folders))
        assert cdi_folders({"ServerVersion": "29.1.0"}) == ()


class TestRules:
    def test_policies(self) -> None:
        assert policy_of("lh-x", None) == LeasePolicy("lh-x", "none")
        allow = workload(egress=["203.0.113.7:443", "[2001:db8::]/32"])
        wanted = (Rule(ip_network("203.0.113.7/32"), 443), Rule(ip_network("2001:db8::/32")))
        assert policy_of("lh-x", allow) == LeasePolicy("lh-x", "allow", wanted)

    def test_a_rule_with_a_port_in_version_6(self) -> None:
        assert parse_rule("[2001:db8::1]:53") == Rule(ip_network("2001:db8::1/128"), 53)

    async def test_an_agent_that_ends_sets_no_rules_afterwards(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever is started next has set its own by then."""
        tool, began = tmp_path / "nft", tmp_path / "began"
        os.mkfifo(began)
        tool.write_text(f"#!/bin/sh\necho $$ > {began}\nexec sleep 600\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        applying = asyncio.create_task(Firewall().apply([], HostPolicy()))
        process = int(await asyncio.to_thread(began.read_text))
        applying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await applying
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)

    def test_the_text_is_a_function_of_the_leases(self) -> None:
        host = HostPolicy(dns=("1.1.1.1", "2606:4700::1111"), deny=(ip_network("192.0.2.0/24"),))
        leases = [
            LeasePolicy("lh-a", "internet"),
            LeasePolicy("lh-b", "none"),
            LeasePolicy("lh-c", "allow", (parse_rule("203.0.113.0/24"), parse_rule("[2001:db8::1]:53"))),
        ]
        text = render(leases, host)
        assert text == render(leases, host)
        assert _chain(text, "lh_b") == ["drop"]
        assert _chain(text, "lh_a")[-2:] == ["accept", "drop"]
        paced = "ip daddr 1.1.1.1 udp dport 53 limit rate 20/second burst 100 packets accept"
        assert _chain(text, "lh_c")[0] == paced
        assert _chain(text, "lh_a")[0] == "ip daddr 1.1.1.1 udp dport 53 accept"
        assert _chain(text, "lh_c")[-4:] == [
            "ip daddr 203.0.113.0/24 accept",
            "ip6 daddr 2001:db8::1/128 tcp dport 53 accept",
            "ip6 daddr 2001:db8::1/128 udp dport 53 accept",
            "drop",
        ]
        assert "192.0.2.0/24" in text
        assert text.count("jump") == 3

    def test_a_host_that_lets_nothing_out(self) -> None:
        text = render([LeasePolicy("lh-a", "internet")], HostPolicy(internet=False, dns=("1.1.1.1",)))
        assert _chain(text, "lh_a") == ["drop"]

    def test_without_leases_every_bridge_of_ours_is_shut(self) -> None:
        text = render([], HostPolicy())
        assert "vmap" not in text
        assert text.count("\n    drop\n") == 2

    async def test_a_namespace_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(NetworkError, match="refused"):
            await Firewall(tmp_path / "none").apply([], HostPolicy())

    async def test_a_host_without_the_tool(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(NetworkError, match="nftables"):
            await Firewall().apply([], HostPolicy())


def _chain(text: str, bridge: str) -> list[str]:
    inside = text.split(f"chain from_{bridge} {{\n", 1)[1].split("\n  }", 1)[0]
    return [line.strip() for line in inside.splitlines()]
