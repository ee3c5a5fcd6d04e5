"""The tenants of a run of chaos: what they rent, and what must be so of it whenever everything is whole again."""

from __future__ import annotations

import contextlib
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Any

from docker.errors import APIError

from devnet.site import Site
from devnet.tenant import Tenant
from leasehold.chain import CELLS_PER_GPU, LeaseState, format_lease
from leasehold.errors import ContractError, TransactionFailed
from leasehold.workload import digest

from .chaos_ledger import Told
from .chaos_orders import order_close
from .chaos_schedule import Deed
from .chaos_sight import SeenContainer, Sight

HOUR = 3_600
PRICE, SPOT_PRICE = 24 * 10**17, 6 * 10**17
FEE_BPS = 300

# Its id is written once, wherever it is started again; a job ends by itself.
PROGRAM = """
[ -e /id ] || cat /proc/sys/kernel/random/uuid > /id
mkdir -p /results
cp /id /results/id
echo "$TOKEN" > /results/token
trap 'exit 0' TERM
touch /ready
[ -n "$JOB" ] && exit 0
while :; do sleep 3600 & wait $!; done
"""


@dataclass(frozen=True)
class Wanted:
    """A workload that a tenant has sealed: its results name the token. job: its command ends by itself. ordered: its
    tenant has its end end the bill.
    """

    token: str
    sealed: bytes
    job: bool
    ordered: bool


@dataclass
class Crowd:
    """Some tenants, who hold `most` leases together at most. unsure: whether a card may be ill now, on which no lease
    begins. cards: those of the machine, by their UUIDs.

    homes: the container that each token was seen in. kept: the id in it. last: what each lease was seen to run.
    replaced: tokens that had to make way. results: what was read of each CID. doubtful: tokens of leases that were
    opened while a card may have been ill. placed: containers that are on the cards of a placement. given: tokens of
    jobs whose end ends the bill, as their agent knows. moved: those whose lease was resized, and may be on another
    card.
    """

    site: Site
    tenants: list[Tenant]
    most: int
    unsure: Callable[[], bool] = lambda: False
    cards: tuple[str, ...] = ()
    wanted: dict[bytes, Wanted] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    last: dict[int, str] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    results: dict[bytes, dict[str, str]] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    doubtful: set[str] = field(default_factory=set)
    placed: set[tuple[str, int]] = field(default_factory=set)
    given: set[str] = field(default_factory=set)
    moved: set[str] = field(default_factory=set)

    # --------------------------------------------------------------------------------------------------- what is done

    def fill(self) -> None:
        """Rents until there are as many leases as there may be."""
        for pick in range(self.most - len(self.live())):
            self.act(Deed("rent a job" if pick % 4 == 3 else "rent", pick))

    def act(self, deed: Deed) -> None:
        """Where a lease is gone by then, or full what was asked for, the chain says no, and that is that."""
        live = sorted(self.live().values(), key=lambda told: told.lease)
        with contextlib.suppress(ContractError, TransactionFailed):
            if deed.verb.startswith("rent"):
                if len(live) < self.most:
                    self._rent(deed)
                elif live:
                    self._change("close", live[deed.pick % len(live)])
            elif live:
                self._change(deed.verb, live[deed.pick % len(live)])
            self.done[deed.verb] += 1

    def _rent(self, deed: Deed) -> None:
        tenant, spot = self.tenants[deed.pick % len(self.tenants)], deed.verb == "rent spot"
        job = deed.verb == "rent a job"
        wanted = self._seal(tenant, job=job, ordered=job and bool(deed.pick // 4 % 2))
        price = SPOT_PRICE if spot else PRICE
        if self.unsure():
            self.doubtful.add(wanted.token)
        tenant.open(wanted.sealed, share=1 + deed.pick % 2, spot=spot, max_price=price, duration=6 * HOUR)

    def _change(self, verb: str, told: Told) -> None:
        tenant = self._tenant(told)
        if verb == "close":
            tenant.pool(lambda pool: pool.close(told.lease))
        elif verb == "extend":
            tenant.pool(lambda pool: pool.extend(told.lease, HOUR))
        elif verb == "resize":
            share = 3 - min(2, (told.segments[-1][1] & 0xFF).bit_count())
            tenant.pool(lambda pool: pool.resize(told.lease, share))
            self.moved.add(self.wanted[told.workload].token)
        elif verb == "replace":
            wanted = self._seal(tenant)
            tenant.deliver(wanted.sealed)
            tenant.pool(lambda pool: pool.set_workload(told.lease, digest(wanted.sealed)))
        elif verb == "terminate" and told.price == SPOT_PRICE:
            self.site.owner.pool(lambda pool: pool.terminate(told.lease))

    def _seal(self, tenant: Tenant, *, job: bool = False, ordered: bool = False) -> Wanted:
        token = uuid.uuid4().hex
        environment = {"TOKEN": token} | ({"JOB": "yes"} if job else {})
        more: dict[str, Any] = {"readiness": None} if job else {}  # it may be over before anybody looks
        more |= {"share": "time-slice", "datasets": []}
        workload = tenant.workload("", program=PROGRAM, environment=environment, **more)
        wanted = Wanted(token, self.site.seal(workload), job, ordered)
        self.wanted[digest(wanted.sealed)] = wanted
        return wanted

    # ----------------------------------------------------------------------------------------------------- what is so

    @cached_property
    def sight(self) -> Sight:
        return Sight(self.site)

    def told(self) -> dict[int, Told]:
        """Every lease that the chain has, by what its events say."""
        return self.sight.told()

    def live(self) -> dict[int, Told]:
        now = self.sight.now
        return {lease: told for lease, told in self.told().items() if told.live_at(now)}

    def running(self) -> list[Told]:
        """The leases that are billed and whose container runs."""
        live, containers = self.live(), self.sight.containers()
        running = {container.lease for container in containers if container.running}
        return [told for lease, told in live.items() if told.start and lease in running]

    def whole(self) -> bool:
        """Whether each lease has what it paid for, and nothing runs that nobody pays for."""
        try:
            self.trouble = self._trouble()
        except APIError as gone:  # ended or removed between the list and a question about it
            if gone.status_code not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise
            self.trouble = f"a container went while it was looked at: {gone.explanation}"
        return not self.trouble

    trouble: str = "it was not looked yet"

    def _trouble(self) -> str:
        live, containers = self.live(), self.sight.containers()
        count = Counter(container.lease for container in containers)
        if doubled := {lease for lease in live.keys() & count.keys() if count[lease] > 1}:
            return f"{doubled} have two containers"
        for container in containers:
            told = live.get(container.lease)
            if told is None:
                if container.running:
                    return f"{container.lease} runs, and nobody pays for it"
                continue
            if problem := self._trouble_with(told, container):
                return f"{container.lease}: {problem}"
        missing = live.keys() - count.keys()
        return f"{missing} have no container" if missing else ""

    def _trouble_with(self, told: Told, container: SeenContainer) -> str:
        wanted = self.wanted[told.workload]
        if container.workload != told.workload.hex():
            return "it runs another workload"
        if not told.start:
            return "it is not started"
        self._look_back(told.lease, wanted.token)
        if problem := self._trouble_with_cards(told, container):
            return problem
        if wanted.job:
            return self._trouble_with_job(told, wanted)
        if not container.running:
            return "it does not run"
        self._remember(wanted.token, container.id)
        return ""

    def _trouble_with_cards(self, told: Told, container: SeenContainer) -> str:
        """It is on those that it has bought, by their places on the machine."""
        gpus = told.segments[-1][1] >> CELLS_PER_GPU
        if (container.id, gpus) in self.placed:
            return ""
        cards, bought = self.sight.cards(container.id), [c for n, c in enumerate(self.cards) if gpus >> n & 1]
        if cards != bought:
            return f"it is on {cards}, and has bought {bought}"
        self.placed.add((container.id, gpus))
        return ""

    def _trouble_with_job(self, told: Told, wanted: Wanted) -> str:
        """Its results are published, and then its bill ends where its tenant has ordered that."""
        if wanted.ordered and wanted.token not in self.given:
            if problem := order_close(self._tenant(told), told.lease, told.workload):
                return f"its tenant's order is not taken: {problem}"
            self.given.add(wanted.token)
        if not told.results:
            return "its job has no result"
        return "its job is done, and its bill runs on" if wanted.ordered else ""

    def _look_back(self, lease: int, token: str) -> None:
        """What ran before was replaced, and its data went with it: should it come back, it begins anew."""
        former, self.last[lease] = self.last.get(lease, token), token
        if former != token:
            self.replaced.add(former)
            self.homes.pop(former, None)
            self.kept.pop(former, None)

    def _remember(self, token: str, container: str) -> None:
        """The container is the one that it was, and so is what it has written; or, where its lease was resized, one on
        another card that was made out of that.
        """
        if self.homes.get(token) == container:
            return
        written = self.sight.written(container)
        lost = not written or self.kept.get(token, written) != written
        assert not lost, f"{token} has lost its data"
        assert token not in self.homes or token in self.moved, f"{token} was made anew"
        self.homes[token], self.kept[token] = container, written

    # ---------------------------------------------------------------------------------------------- at the end

    def leave(self) -> None:
        """Everybody closes."""
        self.sight.forget()
        for told in self.live().values():
            self._change("close", told)

    def published(self) -> bool:
        """Whether every workload that was seen to run to its lease's end has a result."""
        owed = [told for told in self.told().values() if self._owed(told)]
        self.trouble = f"not published: {owed}"
        return not owed

    def _owed(self, told: Told) -> bool:
        wanted = self.wanted[told.workload]
        ran = told.start and (wanted.job or wanted.token in self.homes)
        return bool(
            ran and not (told.results and self._read(told, told.results[-1]).get("token") == wanted.token)
        )

    def gone(self, before: set[str]) -> bool:
        """Whether nothing of anybody is left on the host, beside what there was before anybody came."""
        left = self.sight.remains() - before
        self.trouble = f"{sorted(left)} are left"
        return not left

    def check_results(self) -> int:
        """Each workload has one result, with its own token and the id that its container was seen with; how many. One
        that made way before it had written anything has one with nothing in it.
        """
        seen = Counter[str]()
        for told in self.told().values():
            for cid in dict.fromkeys(told.results):
                result = self._read(told, cid)
                if (token := result.get("token")) is None:
                    continue
                seen[token] += 1
                if token not in self.replaced:
                    assert result["id"] == self.kept.get(token, result["id"])
                    assert seen[token] == 1, "published more than once"
        assert seen.keys() <= {wanted.token for wanted in self.wanted.values()}
        return len(seen)

    def _read(self, told: Told, cid: bytes) -> dict[str, str]:
        if cid not in self.results:
            files = self._tenant(told).result(cid, format_lease(told.lease))
            self.results[cid] = {name: text.strip() for name, text in files.items()}
        return self.results[cid]

    def _tenant(self, told: Told) -> Tenant:
        return next(tenant for tenant in self.tenants if tenant.address.lower() == told.tenant.lower())

    def check_bills(self) -> int:
        """Each lease was billed its seconds by its share, to the unit; returns what the provider has got."""
        earned = 0
        for told in self.told().values():
            assert told.over
            allowed = ("", "no-card") if self.wanted[told.workload].token in self.doubtful else ("",)
            assert told.declined in allowed
            assert told.paid + told.fee == told.bill, told
            earned += told.paid
            lease = self.sight.lease(told.lease)
            assert lease.state in (LeaseState.ENDED, LeaseState.CANCELLED, LeaseState.REJECTED)
            assert lease.paused == 0
        return earned

    def spent(self) -> int:
        return sum(told.paid + told.fee for told in self.told().values())
