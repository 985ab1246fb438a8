"""Answers and their duration show nothing to a client that knows no secret."""

import contextlib
import random
import statistics
import time
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable

import httpx2
import pytest

from hansa.foundation.values.errors import Unauthorized
from hansa.rooms.people import login, passwords, sessions
from hansa.rooms.people.recovery import acts
from tests.conversations.person import WRONG_PASSWORD, person
from tests.properties.scale import by_tier, printed_seed
from tests.registry import TestRegistry

pytestmark = pytest.mark.usefixtures("hash_passwords_with_all_the_work")
SAMPLES = by_tier(50, 10_000, 100_000)
# Of few samples even equal ones differ a little.
AUC_OFF_MAX = by_tier(0.25, 0.05, 0.05)
WELCH_T_MAX = 4.5
WARM_UP = 5
SERIES = 3
KNOWN, UNKNOWN = "known@example.org", "nobody@example.org"
WRONG_KEY = "avrec-00000000-00000000-00000000"

WITHOUT_A_SECRET = (
    ("/auth/login", "data", lambda email: {"username": email, "password": WRONG_PASSWORD}),
    (
        "/auth/login",
        "data",
        lambda email: {"username": email, "password": WRONG_PASSWORD, "totp_code": "000000"},
    ),
    ("/auth/forgot-password", "json", lambda email: {"email": email}),
    ("/auth/recover-account", "json", lambda email: {"email": email, "recovery_key": WRONG_KEY}),
)

Ask = Callable[[TestRegistry, str], Awaitable[object]]


async def log_in(registry: TestRegistry, email: str) -> None:
    """Run a login until its refusal, without the limits before it, which know no accounts."""
    found = await registry.database.read(lambda tx: login.find_account(tx, email))
    await login.require_right_password(found, WRONG_PASSWORD)


async def recover(registry: TestRegistry, email: str) -> None:
    runtime = registry.runtime
    await registry.database.transaction(
        lambda tx: acts.recover_account(tx, runtime.seal, runtime.tokens, email, WRONG_KEY)
    )


async def refresh(registry: TestRegistry, email: str) -> None:
    """With a token that was, or was never, given out."""
    token = registry.spent_token if email == KNOWN else "hrt_unknown"  # type: ignore[attr-defined]
    await registry.database.transaction(lambda tx: sessions.refresh(tx, token))


@pytest.fixture
async def stage(registry: TestRegistry) -> TestRegistry:
    """One account is known, and a refresh token of its that has expired."""
    known = await (await person(registry, KNOWN)).log_in()
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE people_refresh_token SET expires_at = now() - interval '1 second'")
    )
    registry.spent_token = known.tokens["refresh_token"]  # type: ignore[attr-defined]
    return registry


@pytest.mark.parametrize("state", ["is_verified = true", "is_verified = false", "areas = '{admin_support}'"])
async def test_a_known_and_an_unknown_address_get_the_same_answer(stage: TestRegistry, state: str):
    await stage.database.transaction(lambda tx: tx.execute(f"UPDATE people_developer SET {state}"))
    for path, form, members in WITHOUT_A_SECRET:
        known, unknown = [
            await stage.post(path, **{form: members(email)}, headers=stage.elsewhere())
            for email in (KNOWN, UNKNOWN)
        ]
        assert (path, known.status_code, known.content) == (path, unknown.status_code, unknown.content)
        assert headers_that_differ(known) == headers_that_differ(unknown)


def headers_that_differ(answer: httpx2.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name != "x-request-id"}


async def test_a_password_is_verified_for_an_unknown_address_too(
    stage: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    verified = []
    verify = passwords._hasher.verify
    monkeypatch.setattr(
        passwords._hasher, "verify", lambda *given: verified.append(given[1]) or verify(*given)
    )
    for email in (KNOWN, UNKNOWN):
        form = {"username": email, "password": WRONG_PASSWORD}
        assert (await stage.post("/auth/login", data=form, headers=stage.elsewhere())).status_code == 401
    cost = [kept.split("$")[1:4] for kept in verified]
    assert len(cost) == 2
    assert cost[0] == cost[1]


@pytest.mark.parametrize("ask", [log_in, recover, refresh])
async def test_a_known_and_an_unknown_one_take_as_long(stage: TestRegistry, ask: Ask):
    """A difference that the code causes shows in each series; one that the machine caused does not come back."""
    draw = random.Random(printed_seed())
    for _ in range(SERIES):
        known, unknown = await times_taken(stage, ask, draw)
        t, above = welch_t(known, unknown), auc(known, unknown)
        medians = [f"{statistics.median(samples) * 1e6:.1f}" for samples in (known, unknown)]
        print(f"medians {medians} µs, t {t:.2f}, AUC {above:.3f}")
        if abs(t) < WELCH_T_MAX and abs(above - 0.5) <= AUC_OFF_MAX:
            return
    pytest.fail(f"{SERIES} series of {SAMPLES} each distinguish a known address from an unknown one")


async def times_taken(stage: TestRegistry, ask: Ask, draw: random.Random) -> tuple[list[float], list[float]]:
    """Seconds for the known and for the unknown address, asked in a random order."""
    took: dict[str, list[float]] = {KNOWN: [], UNKNOWN: []}
    order = [KNOWN, UNKNOWN] * (SAMPLES + WARM_UP)
    draw.shuffle(order)
    for email in order:
        started = time.perf_counter()
        with contextlib.suppress(Unauthorized):
            await ask(stage, email)
        took[email].append(time.perf_counter() - started)
    return trimmed(took[KNOWN][WARM_UP:]), trimmed(took[UNKNOWN][WARM_UP:])


def test_a_difference_of_a_tenth_is_seen():
    draw = random.Random(7)
    fast = [draw.gauss(1.0, 0.1) for _ in range(50)]
    slow = [draw.gauss(1.1, 0.1) for _ in range(50)]
    assert abs(welch_t(fast, slow)) > WELCH_T_MAX
    assert abs(auc(fast, slow) - 0.5) > 0.25


def trimmed(samples: list[float]) -> list[float]:
    """Without the slowest tenth: that is the machine's doing."""
    return sorted(samples)[: len(samples) * 9 // 10]


def welch_t(a: list[float], b: list[float]) -> float:
    """Welch's t of two samples."""
    spread = (statistics.variance(a) / len(a) + statistics.variance(b) / len(b)) ** 0.5
    return (statistics.fmean(a) - statistics.fmean(b)) / spread


def auc(a: list[float], b: list[float]) -> float:
    """Return the share of pairs in which one of `a` is above one of `b`: the most that a threshold could distinguish."""
    ordered = sorted(b)
    above = sum((bisect_left(ordered, one) + bisect_right(ordered, one)) / 2 for one in a)
    return above / (len(a) * len(b))
