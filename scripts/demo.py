"""`make demo`: a whole rental, for real, and an account of it.

Every step is a command that a person could type; nothing on the way is simulated. `--live` keeps the world running and
says how to go on by hand; its market has been used for a month, unless `--alone` leaves the one machine by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import shutil
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from sklearn.datasets import __file__ as sklearn_datasets

from devnet import images
from devnet.beat import beating
from devnet.gateway import documents_have_come, gateway, port_or_another
from devnet.ledger import transactions
from devnet.live import live_environment, others, who_can_be_played
from devnet.patience import patient
from devnet.place import PlaceTaken
from devnet.world import Host, Party, World
from leasehold.chain import LeaseClosed, LeaseExtended, decode_log
from leasehold.market import format_amount

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "demo-world"
LIVE_FOLDER = ROOT / "build" / "live-world"  # a demo does not disturb it
REPORT = ROOT / "build" / "demo.json"
PICTURE = ROOT / "build" / "demo.svg"
ENVIRONMENT = ROOT / "build" / "live.env"
GATEWAY_PORT = 8088  # the one that `leasehold gateway run` takes
PRICE, DURATION, EXTENSION = "2.40", "10m", "5m"
LIVE_PRICE = "0.06"  # the cheapest of its market, so that who looks for a machine by price finds it first


class Story:
    """What is printed: a numbered line for each step, what was typed, and what came of it."""

    def __init__(self) -> None:
        self.console = Console(record=True, width=118, highlight=False)
        self._number = 0

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        self._number += 1
        self.console.print(f"\n[bold cyan]{self._number:2d}  {escape(title)}[/bold cyan]")
        began = time.monotonic()
        yield
        self.console.print(f"    [dim]{time.monotonic() - began:.1f} s[/dim]")

    def typed(self, who: str, command: str) -> None:
        self.console.print(f"    [green]{who} $[/green] {escape(command)}")

    def note(self, text: str) -> None:
        self.console.print(f"    {escape(text)}")


class Demo:
    """The people, the host, and what was measured on the way."""

    def __init__(self, world: World, story: Story, price: str = PRICE) -> None:
        self.world, self.story, self.price = world, story, price
        self.provider: Party = world.party("provider", world.provider_ipfs)
        self.renter: Party = world.party("renter")
        self.host: Host = world.host("host")
        self.first_block = world.anvil.block_number + 1
        self.result: dict[str, Any] = {}
        self.addresses: dict[str, str] = {}

    def type(self, party: Party, *arguments: str, shown: str | None = None) -> Any:
        self.story.typed(party.name, f"leasehold {shown or ' '.join(arguments)}")
        return party(*arguments)

    # -------------------------------------------------------------------------------------------------- the steps

    def make_wallets(self, *parties: Party) -> None:
        who = "Two people make wallets" if len(parties) > 1 else "The provider makes a wallet"
        with self.story.step(f"{who}; a faucet gives gas money and 10,000 test dollars"):
            for party in parties:
                wallet = self.type(party, "wallet", "new", party.name)
                self.addresses[party.name] = wallet["address"]
                self.world.fund(wallet["address"], tokens=10_000)
                self.story.note(f"{party.name}: {wallet['address']}")

    def join(self) -> None:
        with self.story.step("The provider describes a host, stakes and registers it"):
            owner = self.addresses[self.provider.name]
            self.image = images.load(self.world.engine.url, images.base())  # what is there is described
            self.story.typed("host", f"leasehold-agent describe --owner {owner} > machine.json")
            machine_file = self.host.describe(owner)
            hardware = json.loads(machine_file.read_text())["hardware"]
            gpus = ", ".join(gpu["model"] for gpu in hardware["gpus"])
            plural = "" if hardware["cpu_units"] == 1 else "s"
            units = f"no GPU, so {hardware['cpu_units']} CPU unit{plural} of {hardware['cpu']['model']}"
            self.story.note(f"offers {gpus or units}")
            self.gpu = bool(hardware["gpus"])
            price = ("--price", self.price)
            arguments = ("provider", "join", str(machine_file), *price, "--approve", "--yes")
            joined = self.type(
                self.provider, *arguments, shown=f"provider join machine.json {' '.join(price)}"
            )
            self.machine = int(joined["machine"])
            self.story.note(
                f"machine {joined['machine']}: staked {joined['stake']} {joined['token']}, can lose at most "
                f"{joined['lost_at_most']} of it in seven days; gas {joined['gas']:,}"
            )
            self.story.typed("host", "leasehold-agent run")
            self.host.start()

    def add_dataset(self) -> None:
        with self.story.step("The renter adds a dataset to IPFS: 1,797 handwritten digits (UCI)"):
            folder = self.renter.home / "digits"
            folder.mkdir()
            shutil.copy(Path(sklearn_datasets).parent / "data" / "digits.csv.gz", folder)
            rows = gzip.decompress((folder / "digits.csv.gz").read_bytes()).count(b"\n")
            added = self.type(self.renter, "dataset", "add", str(folder), shown="dataset add ./digits")
            self.result["dataset_cid"] = added["cid"]
            self.story.note(f"{rows:,} rows, {added['cid']}")

    def rent(self) -> None:
        with self.story.step("The renter looks around and rents, in one transaction"):
            found = self.type(self.renter, "machines", "price<3", shown="machines 'price<3'")
            self.story.note(f"{len(found)} machine answers the search")
            self.type(
                self.renter, "wallet", "approve", "unlimited", "--yes", shown="wallet approve unlimited"
            )
            workload = self.write_workload()
            arguments = ("rent", "--file", str(workload), "--for", DURATION, "--allow-unverified", "--yes")
            shown = f"rent --file digits.json --for {DURATION} --allow-unverified"
            rented = self.type(self.renter, *arguments, shown=shown)
            self.lease = rented["lease"]
            self.result["lease_id"] = self.lease
            self.sent_at, self.mined_at = float(rented["sent_at"]), float(rented["mined_at"])
            self.story.note(f"lease {self.lease} runs; gas {rented['gas']:,}")

    def write_workload(self) -> Path:
        public_key = self.renter.keygen(self.renter.home / "id_ed25519")
        train = (ROOT / "scripts" / "digits" / "train.py").read_text()
        workload = {
            "version": 1,
            "kind": "container",
            "image": self.image,
            "command": ["sh", "-c", 'python3 -c "$TRAIN" && touch /outputs/done; exec sleep infinity'],
            "env": {"TRAIN": train},
            "cpu": 1,
            "memory": "1GiB",
            "disk": "2GiB",
            "datasets": [{"cid": self.result["dataset_cid"], "path": "/data/digits"}],
            "outputs": [{"path": "/outputs"}],
            "ssh_keys": [public_key],
            "readiness": {"command": ["test", "-r", "/data/digits/digits.csv.gz"]},
            "egress": "none",
        }
        path = self.renter.home / "digits.json"
        path.write_text(json.dumps(workload, indent=2))
        return path

    def follow(self) -> None:
        with self.story.step(
            "Training runs on the provider's host; its log arrives at the renter's terminal"
        ):
            self.story.typed("renter", f"leasehold logs -f {self.lease}")
            process = self.renter.popen("logs", "-f", self.lease)
            watchdog = threading.Timer(patient(90), process.kill)
            watchdog.start()
            assert process.stdout is not None
            with process.stdout:
                for line in process.stdout:
                    self.story.note(f"│ {line.rstrip()}")
                    if line.startswith("accuracy"):
                        break
                    if "Error" in line:
                        raise RuntimeError("the training failed")
            process.send_signal(signal.SIGINT)
            process.wait(patient(20))
            watchdog.cancel()

    def log_in(self) -> None:
        with self.story.step("SSH into the container, through the agent"):
            command = "test -e /outputs/done && nproc && id -un && ls /outputs"
            self.story.typed("renter", f"leasehold ssh {self.lease} -- '{command}'")
            identity = str(self.renter.home / "id_ed25519")
            done = self.renter.run("ssh", self.lease, "--identity", identity, "--", command)
            for line in (done.stdout + done.stderr if done.returncode else done.stdout).splitlines():
                self.story.note(f"│ {line}")
            if done.returncode != 0:
                raise RuntimeError(f"ssh exited with {done.returncode}")

    def extend_and_close(self) -> None:
        with self.story.step(
            "The lease is extended, then closed early: billed by the second, the rest comes back"
        ):
            self.type(
                self.renter,
                "extend",
                self.lease,
                EXTENSION,
                "--yes",
                shown=f"extend {self.lease} {EXTENSION}",
            )
            self.type(self.renter, "close", self.lease, "--yes", shown=f"close {self.lease}")

    def fetch_results(self) -> None:
        with self.story.step("The results come back by IPFS, sealed to the renter's key, and are checked"):
            target = self.renter.home / "out"
            fetched = self.type(
                self.renter, "results", self.lease, str(target), shown=f"results {self.lease} ./out"
            )
            self.result["result_cid"] = fetched["cid"]
            (report_file,) = target.rglob("report.json")
            report = json.loads(report_file.read_text())
            self.result["accuracy"] = report["accuracy"]
            self.result["device"] = report["device"]
            self.story.note(
                f"{fetched['cid']}: accuracy {report['accuracy']:.4f}, trained on {report['device']}"
            )
            if report["accuracy"] <= 0.9:
                raise RuntimeError(f"accuracy is {report['accuracy']}, which is not what this model reaches")

    def pay_out(self) -> None:
        with self.story.step("The provider withdraws what it earned"):
            withdrawn = self.type(
                self.provider, "provider", "withdraw", "all", "--yes", shown="provider withdraw all"
            )
            self.story.note(f"ledger left: {withdrawn['ledger']}; gas {withdrawn['gas']:,}")

    # ------------------------------------------------------------------------------------------------ the account

    def account(self) -> dict[str, Any]:
        """What the chain says of it all: who paid what, for how much gas, and when."""
        facts = self.world.facts
        query = {"address": facts["controller"], "fromBlock": "0x0", "toBlock": "latest"}
        events = [decode_log(raw) for raw in self.world.anvil.request("eth_getLogs", query)]
        (extended,) = (event for event in events if isinstance(event, LeaseExtended))
        (closed,) = (event for event in events if isinstance(event, LeaseClosed))
        if closed.paid + closed.fee + closed.refunded != extended.deposit:
            raise RuntimeError("the account does not add up")
        gas: dict[str, int] = {}
        contracts = {facts["controller"]: "Controller", facts["accounts"]: "Accounts"}
        self.transactions = list(transactions(self.world.anvil, self.first_block, contracts))
        for sent in self.transactions:
            if sent.to is not None and sent.to.lower() in (
                facts["controller"].lower(),
                facts["token"].lower(),
            ):
                gas.setdefault(sent.call, sent.gas)
        return {
            "lease_id": self.result["lease_id"],
            "gas": gas,
            "seconds": self.seconds(),
            "deposit": extended.deposit,
            "paid_to_provider": closed.paid,
            "fee": closed.fee,
            "refunded": closed.refunded,
            "dataset_cid": self.result["dataset_cid"],
            "result_cid": self.result["result_cid"],
            "accuracy": self.result["accuracy"],
            "device": self.result["device"],
        }

    def seconds(self) -> dict[str, float]:
        """Seconds from sending the open. The agent logs a step before it takes it, when the one before has ended."""
        at: dict[str, float] = {}
        for step in self.host.steps:
            if step.get("lease") == self.lease:
                at.setdefault(str(step.get("step") or step.get("event")), step.at)
        moments = {
            "tx_mined": self.mined_at,
            "dataset_fetched": at["create"],
            "container_running": at["ready"],
            "ready": at["start-on-chain"],
            "started_on_chain": at["started"],
        }
        return {name: round(moment - self.sent_at, 3) for name, moment in moments.items()}


def print_account(story: Story, demo: Demo, account: dict[str, Any]) -> None:
    """Who paid what, the transactions, the seconds."""
    symbol, decimals = demo.world.facts["token_symbol"], int(demo.world.facts["token_decimals"])
    money = Table(title="\nWho paid what", title_justify="left", box=None, pad_edge=False)
    for column in ("", symbol):
        money.add_column(column, justify="right" if column else "left")
    for name in ("deposit", "paid_to_provider", "fee", "refunded"):
        money.add_row(name.replace("_", " "), format_amount(account[name], decimals))
    story.console.print(money)

    sent: dict[tuple[str, str], list[int]] = defaultdict(list)
    for each in demo.transactions:
        sent[each.call, each.hash].append(each.gas)
    table = Table(title="\nTransactions", title_justify="left", box=None, pad_edge=False)
    for column in ("call", "gas", "transaction"):
        table.add_column(column, justify="right" if column == "gas" else "left")
    for (call, digest), (gas, *_) in sent.items():
        if call in account["gas"]:
            table.add_row(call, f"{gas:,}", digest)
    story.console.print(table)

    times = Table(title="\nSince `open` was sent", title_justify="left", box=None, pad_edge=False)
    times.add_column()
    times.add_column("seconds", justify="right")
    for name, seconds in account["seconds"].items():
        times.add_row(name.replace("_", " "), f"{seconds:.2f}")
    story.console.print(times)


def live_account(demo: Demo, url: str) -> str:
    """How to go on by hand. What a newcomer needs to set is in a file to be sourced."""
    newcomer, host = demo.world.party("you"), demo.world.host("your-host")
    newcomer.password_file.unlink()
    ENVIRONMENT.write_text(live_environment(newcomer, host, demo.image, ROOT / ".venv/bin"))
    return "\n".join(
        (
            f"The world is running. Its market is open in a browser at {url}",
            f"(its wallet needs the network {demo.world.anvil.chain_id} at {demo.world.anvil.url}).",
            *(("", *others(demo.machine), "", *who_can_be_played(demo.world)) if demo.machine > 1 else ()),
            "",
            "Or go on in another terminal with",
            "",
            f"    . {ENVIRONMENT.relative_to(ROOT)}",
            "",
            "and the README's «A first rental by hand» or «A first machine by hand».",
            f"Logs lie in {demo.world.folder.relative_to(ROOT)}: {demo.host.name}/agent.log, gateway/gateway.log.",
            "Ctrl-C here ends everything.",
        )
    )


def live_world(alone: bool, tell: Callable[[str], None]) -> World:
    """A world to be used by hand. Unless its machine is to be alone, its chain began a month ago. That Brownie deploys,
    `make demo` shows; here somebody waits.
    """
    from devnet.used_market import aged_chain

    return World(LIVE_FOLDER, chain=None if alone else aged_chain(), tell=tell)


def pass_a_month(world: World, story: Story) -> None:
    """What a live world's market is filled with. Imported here: `make demo` does without."""
    from devnet.used_market import fill

    with story.step("A month passes in the market: made-up providers join, change prices, lease, are rated"):
        count = fill(world, tell=story.note)
        story.note(f"{count} machines, registered for real; nobody runs an agent for them")


@contextmanager
def opened(demo: Demo) -> Iterator[str]:
    """A gateway before the live world, and its address: once it has read everything, and the machine can be rented."""
    with contextlib.ExitStack() as stack:
        with demo.story.step("The machine's agent comes up, and a gateway reads the market"):
            stack.enter_context(beating(demo.world.anvil))
            url = stack.enter_context(gateway(demo.world, port=port_or_another(GATEWAY_PORT)))
            documents_have_come(url)
            demo.host.serving()
        yield url


def play(demo: Demo, live: bool, alone: bool) -> None:
    """The story, to its end or, live, to where the reader takes over."""
    if live and not alone:
        pass_a_month(demo.world, demo.story)
    demo.make_wallets(demo.provider, *(() if live else (demo.renter,)))
    demo.join()
    if live:
        with opened(demo) as url:
            demo.story.console.print("\n" + escape(live_account(demo, url)), soft_wrap=True)
            with contextlib.suppress(KeyboardInterrupt):
                signal.pause()
            demo.story.console.print("\nEnding everything: some seconds.")
        return
    for step in (demo.add_dataset, demo.rent, demo.follow, demo.log_in):
        step()
    for step in (demo.extend_and_close, demo.fetch_results, demo.pay_out):
        step()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="offer a machine, keep everything running, say how to go on by hand",
    )
    parser.add_argument("--alone", action="store_true", help="with --live: that machine and no others")
    arguments = parser.parse_args()
    live, alone = arguments.live, arguments.alone
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has it ignored in what runs behind
    story = Story()
    story.console.print("[bold]Leasehold: a rental, for real[/bold]")
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        how = "the contracts" if live else "Brownie deploys the contracts"
        with story.step(f"A development chain, two IPFS nodes, a Docker engine; {how}"):
            made = live_world(alone, story.note) if live else World(FOLDER, brownie=True)
            world = stack.enter_context(made)
        if live:
            stack.callback(ENVIRONMENT.unlink, missing_ok=True)
        demo = Demo(world, story, LIVE_PRICE if live and not alone else PRICE)
        stack.enter_context(contextlib.closing(demo.host))
        play(demo, live, alone)
        if live:
            return 0
        account = demo.account()
    print_account(story, demo, account)
    REPORT.write_text(json.dumps(account, indent=2) + "\n")
    story.console.print(
        f"\nAll of it in {time.monotonic() - began:.0f} s. Written to {REPORT.relative_to(ROOT)}."
    )
    PICTURE.write_text(story.console.export_svg(title="make demo"))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PlaceTaken as error:
        sys.exit(f"Such a world runs already: {error}")
    except KeyboardInterrupt:  # before there was anything to use, or a second time
        print("\nInterrupted; what was started is taken away.", file=sys.stderr)
        sys.exit(130)
