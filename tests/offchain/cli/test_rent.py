"""`leasehold machines` and `leasehold rent` for real: a pool on Anvil, documents and workloads on Kubo."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from devnet.kubo import Kubo
from devnet.patience import patient
from devnet.serving import certificate
from leasehold.chain import Lease, LeaseState, Rpc, cid_of_digest
from leasehold.chain import Pool as Binding
from leasehold.datasets import Ipfs
from leasehold.workload import Workload, digest, unseal

from .conftest import Cli, Host, Pool
from .people import join_another

IMAGE = "sha256:" + "ab" * 32
RENT = ("rent", "--for", "2h", "--image", IMAGE, "--allow-unverified", "--yes")


def lease_of(pool: Pool, number: int) -> Lease:
    async def read() -> Lease:
        async with Rpc([pool.anvil.url]) as rpc:
            return await Binding(rpc, pool.deployment).lease_of(number)

    return asyncio.run(read())


def balance(cli: Cli) -> dict[str, str]:
    found: dict[str, str] = cli("wallet", "balance", "--json", wallet="renter").json
    return found


def test_machines_are_searched_sorted_and_shown(market: Cli) -> None:
    assert [
        each["id"] for each in market("machines", "gpu:H100", "mem>=80", "price<=2.5", "--json").json
    ] == [1]
    assert market("machines", "-gpu:H100", "--json").json == []
    assert "No machine matches" in market("machines", "price<1").out
    shown = market("machines", "--sort", "-mem").out
    assert "NVIDIA H100 80GB HBM3" in shown
    assert "85.5 GB" in shown
    assert "2/2" in shown
    assert "unverified" in shown
    wrong = market("machines", "gpuu:H100", ok=False)
    assert wrong.code == 2
    assert wrong.err.startswith("Column 1 of the search: unknown field 'gpuu'")
    assert market("machines", "--sort", "image", ok=False).code == 2


def test_a_machine_whose_documents_are_lost_is_listed_all_the_same(market: Cli) -> None:
    for kept in (market.home / "documents").glob("*"):
        kept.unlink()
    market.ipfs = "/ip4/127.0.0.1/tcp/1"
    ran = market("machines")
    assert "2.5" in ran.out
    assert "could not be fetched" in ran.err
    refused = market(*RENT, "--no-wait", wallet="renter", ok=False)
    assert refused.code == 9
    assert "could not be fetched" in refused.err
    assert balance(market)["wallet"] == "1000000"


def test_a_dry_run_shows_cost_and_refunds_and_sends_nothing(market: Cli) -> None:
    ran = market(*RENT, "--dry-run", wallet="renter")
    for said in ("2.5 TUSD per GPU-hour", "5 TUSD: 0 TUSD from the ledger, 5 TUSD from the wallet", "what comes back",
                 "not started within 30m, or declined", "closed early", "1 GPU, for 2h"):  # fmt: skip
        assert said in ran.out
    quote = market(*RENT, "--dry-run", "--share", "1/4", "--json", wallet="renter").json
    assert (quote["deposit"], quote["hourly"], quote["cells"]) == ("1.25", "0.625", 2)
    assert balance(market)["wallet"] == "1000000"


def test_renting_seals_the_workload_opens_one_lease_and_waits_for_its_start(
    market: Cli, host: Host, pool: Pool, kubo: Kubo, tmp_path: Path
) -> None:
    key = tmp_path / "key.pub"
    key.write_text("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEy me\n")
    with host.meanwhile(host.start):
        ran = market(
            *RENT, "--machine", "1", "--max-price", "2.5", "--env", "A=1", "--port", "8080", "--memory", "1GiB",
            "--ssh-key", str(key), "--json", wallet="renter", ok=True,
        )  # fmt: skip
    said = ran.json
    assert said["lease"] == "1"
    assert said["state"] == "active"
    assert said["delivered_by"] == "ipfs"
    assert said["deposit"] == "5"
    assert said["end"] - said["start"] == 7_200
    assert "the agent did not take it" in ran.err
    lease = lease_of(pool, int(said["number"]))
    assert lease.state is LeaseState.ACTIVE
    assert lease.cells == 8

    workload = sealed_for(host, pool, kubo)
    assert workload.image == IMAGE
    assert workload.env == {"A": "1"}
    assert workload.ports[0].container == 8080
    assert workload.ssh_keys[0].startswith("ssh-ed25519 AAAA")


def sealed_for(host: Host, pool: Pool, kubo: Kubo) -> Workload:
    """What the machine finds on IPFS under the digest on chain."""

    async def read() -> Workload:
        async with Rpc([pool.anvil.url]) as rpc:
            logs = await rpc.call(
                "eth_getLogs", [{"address": pool.deployment.controller, "fromBlock": "0x0"}]
            )
        from leasehold.chain import LeaseOpened, decode_log

        opened = [event for log in logs if isinstance(event := decode_log(log), LeaseOpened)]
        async with Ipfs(kubo.api) as ipfs:
            sealed = await ipfs.get_block(cid_of_digest(opened[-1].workload), patient(5))
        assert digest(sealed) == opened[-1].workload
        return unseal(sealed, host.identity)

    return asyncio.run(read())


def test_a_decline_is_explained_and_refunded_in_full(market: Cli, host: Host) -> None:
    with host.meanwhile(lambda: host.decline("image-unknown")):
        refused = market(*RENT, wallet="renter", ok=False)
    assert refused.code == 10
    assert "declined lease 1 and 5 TUSD were refunded: the machine does not have the image" in refused.err
    assert balance(market)["ledger"] == "5"


def test_what_lies_in_the_ledger_is_used_first(market: Cli) -> None:
    market("wallet", "deposit", "2", "--yes", wallet="renter")
    quote = market(*RENT, "--dry-run", "--json", wallet="renter").json
    assert (quote["from_ledger"], quote["from_wallet"]) == ("2", "3")


def test_the_renters_maximum_is_kept(market: Cli) -> None:
    refused = market(*RENT, "--machine", "1", "--max-price", "2.4", wallet="renter", ok=False)
    assert refused.code == 9
    assert "asks 2.5 TUSD an hour and your maximum is 2.4 TUSD" in refused.err
    assert len(refused.err.strip().splitlines()) == 1
    assert balance(market)["wallet"] == "1000000"


def test_terms_that_change_between_quote_and_opening_stop_the_lease(
    market: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from leasehold.cli._output import Output

    asked: list[str] = []

    def confirm(self: Output, question: str) -> None:
        # While the renter thinks, the provider raises the price.
        asked.append(question)
        if len(asked) == 1:
            with ThreadPoolExecutor(1) as threads:  # a loop of its own
                terms = ("provider", "terms", "1", "--price", "9", "--yes")
                threads.submit(market, *terms, wallet="provider").result(timeout=patient(30))

    monkeypatch.setattr(Output, "confirm", confirm)
    refused = market(*RENT, wallet="renter", ok=False)
    assert refused.code == 4
    assert "have changed (now revision 2): look at them and rent again" in refused.err
    assert len([line for line in refused.err.strip().splitlines() if "revision" in line]) == 1
    assert balance(market) | {"wallet": "1000000", "ledger": "0"} == balance(market)


def test_without_an_allowance_the_next_step_is_named_and_nothing_is_lost(market: Cli) -> None:
    market("wallet", "approve", "4.9", "--yes", wallet="renter")
    refused = market(*RENT, "--no-wait", wallet="renter", ok=False)
    assert refused.code == 9
    assert "run `leasehold wallet approve 5`, or pass --approve" in refused.err
    assert balance(market)["wallet"] == "1000000"
    market(*RENT, "--no-wait", "--approve", wallet="renter")
    assert balance(market)["allowance"] == "0"
    typed = market(
        "rent",
        "--for",
        "2h",
        "--image",
        IMAGE,
        "--allow-unverified",
        "--no-wait",
        wallet="renter",
        typed="y\ny\n",
    )
    assert "Lease 2 is open" in typed.out


def test_an_unmeasured_machine_has_to_be_asked_for(market: Cli) -> None:
    refused = market("rent", "--for", "2h", "--image", IMAGE, "--yes", wallet="renter", ok=False)
    assert refused.code == 9
    assert "--allow-unverified" in refused.err


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("--machine", "9"), 9, "There is no machine 9"),
        (("--search", "gpu:A100"), 9, "No machine matches"),
        (("--search", "gpu<H100"), 2, "Column 1"),
        (("--share", "3/8"), 2, "is not a share"),
        (("--share", "4"), 9, "cannot serve 4"),
        (("--for", "5s"), 9, "10m to 7d"),
        (("--for", "90"), 2, "is not a duration"),
        (("--env", "NOWHERE_SET"), 2, "NOWHERE_SET is not set here"),
        (("--env-file", "/none"), 2, "name another file with --env-file"),
        (("--port", "http"), 2, "is no port"),
        (("--ulimit", "nofile"), 2, "--ulimit nofile=65536"),
        (("--ulimit", "nproc=9"), 6, "counts for all leases of a host"),
        (("--secret", "token"), 2, "token is not set here"),
        (("--secret", "token=/none"), 2, "name the file of secret token"),
        (("--entrypoint", "sh -c 'x"), 2, "has a quote without its other end"),
        (("--workdir", "out"), 6, "workdir is not an absolute path"),
        (("--restart", "sometimes"), 6, "restart"),
        (("--ready", "http:0/x"), 6, "readiness"),
        (("--dataset", "bafy"), 2, "--dataset CID:/data/name"),
        (("--volume", "models"), 2, "--volume NAME:/data"),
        (("--volume", "a:/data", "--volume-from", "b=bafy"), 2, "--volume-from NAME=CID"),
        (("--volume", "a:/data", "--volume-from", "a=bafy"), 6, "is not a CID"),
        (("--volume", "../x:/data"), 6, "volumes.0.name"),
        (("--volume", "a:/out/a", "--output", "/out"), 6, "outputs and volumes"),
        (("--memory", "lots"), 6, "memory"),
        (("--ssh-key", "/none"), 2, "--ssh-key"),
        (("--max-price", "1e3"), 2, "is not an amount"),
        (("--reuse", "x"), 2, "is not a lease"),
        (("--cpu", "25"), 9, "cpu: 25 cores are more than the 24 that this share of it has"),
        (("--memory", "999GiB"), 9, "memory: 1 TB is more than the 540 GB"),
        (("--disk", "2TB"), 9, "disk: 2 TB is more than the 1.9 TB"),
        (("--gvisor",), 9, "runtime: it has no gVisor"),
        (("--port", "22:22"), 9, "ports: it publishes host ports 20000 to 20999, not 22"),
        (("--dry-run", "--memory", "999GiB"), 9, "memory"),
    ],
)  # fmt: skip
def test_bad_wishes_get_one_sentence_and_cost_nothing(
    market: Cli, args: tuple[str, ...], code: int, says: str
) -> None:
    refused = market(*RENT, "--no-wait", *args, wallet="renter", ok=False)
    assert says in refused.err
    assert refused.code == code
    assert balance(market)["wallet"] == "1000000"


def test_a_workload_comes_from_a_file_and_flags_win_over_it(
    market: Cli, host: Host, pool: Pool, kubo: Kubo, tmp_path: Path
) -> None:
    file = tmp_path / "job.toml"
    file.write_text(
        f'version = 1\nimage = "{IMAGE}"\ncommand = ["python", "a.py"]\nenv = {{ A = "1", B = "2" }}\n'
        '[[outputs]]\npath = "/out"\npublic = true\n'
    )
    market(
        "rent", "--for", "1h", "--share", "1/8", "-f", str(file), "--env", "B=3", "--allow-unverified", "--yes",
        "--no-wait", "--", "python", "b.py", "--fast", wallet="renter",
    )  # fmt: skip
    workload = sealed_for(host, pool, kubo)
    assert workload.command == ("python", "b.py", "--fast")
    assert workload.env == {"A": "1", "B": "3"}
    assert workload.outputs[0].public
    file.write_text(f'version = 1\nimage = "{IMAGE}"\nimmage = "x"\n')
    refused = market("rent", "--for", "1h", "-f", str(file), "--yes", wallet="renter", ok=False)
    assert refused.code == 6
    assert "immage" in refused.err
    nothing = market("rent", "--for", "1h", "--yes", wallet="renter", ok=False)
    assert nothing.code == 2


def test_how_the_image_is_started_and_what_the_lease_is_called(
    market: Cli, host: Host, pool: Pool, kubo: Kubo, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("hunter2")
    market(
        *RENT, "--no-wait", "--name", "digits 3", "--entrypoint", "/init -x 'a b'", "--workdir", "/srv",
        "--user", "1000:100", "--hostname", "trainer", "--ulimit", "nofile=65536", "--ulimit", "memlock=unlimited",
        "--shm", "1GiB", "--secret", f"token={tmp_path / 'token'}", "--restart", "on-failure",
        "--ready", "http:8080/health", "--grace", "2m", wallet="renter",
    )  # fmt: skip
    workload = sealed_for(host, pool, kubo)
    assert (workload.entrypoint, workload.workdir) == (("/init", "-x", "a b"), "/srv")
    assert (workload.user, workload.hostname, workload.name) == ("1000:100", "trainer", "digits 3")
    assert workload.ulimits is not None
    assert (workload.ulimits.nofile, workload.ulimits.memlock) == (65_536, "unlimited")
    assert (workload.shm, workload.grace, workload.restart) == (1 << 30, 120, "on-failure")
    assert workload.secrets == {"token": "hunter2"}
    assert workload.readiness is not None
    assert workload.readiness.http is not None
    assert (workload.readiness.http.port, workload.readiness.http.path) == (8080, "/health")
    assert "1 digits 3" in market("leases", wallet="renter").out
    assert market("leases", "--json", wallet="renter").json[0]["name"] == "digits 3"
    assert "digits 3" in market("show", "1", wallet="renter").out


def test_leases_past_their_end_make_room(market: Cli, host: Host, pool: Pool) -> None:
    for _ in range(2):
        market(*RENT, "--no-wait", wallet="renter")
        host.start()
    full = market(*RENT, "--no-wait", wallet="renter", ok=False)
    assert full.code == 9
    assert "has no room" in full.err
    pool.anvil.advance(7_300)
    opened = market(*RENT, "--no-wait", "--json", wallet="renter").json
    assert opened["lease"] == "3"
    assert lease_of(pool, 1 << 16).state is LeaseState.ENDED


def test_a_machine_is_chosen_that_can_serve_the_workload(market: Cli, host: Host, tmp_path: Path) -> None:
    small = json.loads(host.path.read_text())
    small["hardware"] |= {"memory_bytes": 10**9, "cpu_units": 0}
    market("provider", "terms", "1", "--price", "9", "--yes", wallet="provider")
    host.path.write_text(json.dumps(small))
    cheaper = join_another(market, host, operator=8)
    plain = market(*RENT, "--dry-run", "--json", wallet="renter").json
    assert plain["machine"] == cheaper
    large = market(*RENT, "--memory", "8GB", "--dry-run", "--json", wallet="renter").json
    assert large["machine"] == 1
    refused = market(*RENT, "--memory", "2TB", "--dry-run", wallet="renter", ok=False)
    assert "None of the 2 machines that match can serve this" in refused.err
    unlisted = market(*RENT, "--image", "sha256:" + "cd" * 32, "--dry-run", wallet="renter")
    assert "does not list that image" in unlisted.err


@pytest.mark.slow
def test_a_machine_that_will_be_worked_on_is_passed_over(market: Cli, host: Host, pool: Pool) -> None:
    """For leases that would reach into that; alone, it says when, and a shorter one is taken."""
    begin = pool.anvil.timestamp + 5_400
    described = json.loads(host.path.read_text())
    described["contact"]["maintenance"] = [[begin, begin + 3_600]]
    host.path.write_text(json.dumps(described))
    market("provider", "update", "1", str(host.path), "--yes", wallet="provider")
    refused = market(*RENT, "--dry-run", wallet="renter", ok=False)
    assert refused.code == 9
    assert "Machine 1 will be worked on from" in refused.err
    short = [argument if argument != "2h" else "1h" for argument in RENT]
    assert short != list(RENT)
    assert market(*short, "--dry-run", "--json", wallet="renter").json["machine"] == 1
    assert market("machines", "maintenance:no", "--json").json == []
    assert "maintenance 20" in " ".join(market("machines", "maintenance:yes").out.split())
    market("provider", "terms", "1", "--price", "0.1", "--yes", wallet="provider")
    described["contact"]["maintenance"] = []
    host.path.write_text(json.dumps(described))
    dearer = join_another(market, host, operator=8)
    assert market(*RENT, "--dry-run", "--json", wallet="renter").json["machine"] == dearer


def test_nothing_is_opened_while_the_agent_cannot_be_reached(market: Cli, host: Host, tmp_path: Path) -> None:
    market.without_agent = False
    unknown = market(*RENT, wallet="renter", ok=False)
    assert unknown.code == 8
    assert "so nothing was opened: The machine's contact document holds no certificate" in unknown.err
    described = json.loads(host.path.read_text())
    described["contact"]["certificate"] = certificate(tmp_path)[0].read_text()
    host.path.write_text(json.dumps(described))
    market("provider", "update", "1", str(host.path), "--yes", wallet="provider")
    refused = market(*RENT, wallet="renter", ok=False)
    assert refused.code == 8
    last = refused.err.strip().splitlines()[-1]
    assert "so nothing was opened: The machine's agent does not answer" in last
    assert "--without-agent" in last
    assert balance(market)["wallet"] == "1000000"
    assert market("leases", "--json", wallet="renter").json == []
    opened = market(*RENT, "--without-agent", "--no-wait", wallet="renter")
    assert "The workload waits on your IPFS node, since the agent did not take it" in opened.err
