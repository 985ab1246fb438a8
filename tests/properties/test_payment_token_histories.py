"""Histories of payment tokens: the registry and a model of the states are given the same requests and never differ."""

import random
from collections import Counter
from dataclasses import dataclass

import pytest

from hansa.rooms.commerce.payments import expire_due_tokens
from tests.paying import Payments
from tests.payment_proof import prove_tokens
from tests.properties.proof import prove_book, prove_supply
from tests.properties.scale import by_tier, printed_seed
from tests.registry import StartRegistry

STEPS = by_tier(150, 2_000, 20_000)
TOKENS_AT_ONCE = 6
OPEN = ("authorized", "consumed")
MINOR = 10**8
FEE_DIVISOR = 200


@dataclass
class ModelToken:
    """Payment token by the specification alone; `amount` in minor units."""

    secret: str
    token_id: str
    amount: int
    capture_by: str
    is_reserved: bool
    status: str = "authorized"
    is_late: bool = False

    @property
    def cost(self) -> int:
        return self.amount + self.amount // FEE_DIVISOR

    @property
    def held(self) -> int:
        """Return the part of its caller's balance that it sets aside."""
        return self.cost if self.is_reserved and self.status in OPEN else 0

    def verified(self) -> str | None:
        """The error of a verification, which consumes or expires the token."""
        if self.is_late:
            if self.status in OPEN:
                self.status = "expired"
            return "Token expired"
        if self.status not in OPEN:
            return f"Token status: {self.status}"
        self.status = "consumed"
        return None

    def settled(self, by: str, *, success: bool) -> int:
        """The status of the answer to a settle request, whose outcome is waited for."""
        # The caller gives a token of its payee up until it is verified.
        gives_up = by == "caller" and not success and self.status != "consumed"
        if by != self.capture_by and not gives_up:
            return 403
        if self.status == "settled":
            return 200
        if self.status not in OPEN:
            return 400
        if not success:
            self.status = "released"
            return 200
        self.status = "expired" if self.is_late else "settled"
        return 400 if self.is_late else 200

    def released(self, by: str) -> int:
        if by == "payee" and self.capture_by != "payee":
            return 403
        if self.status != "authorized":
            return 400
        self.status = "released"
        return 200

    def swept(self) -> None:
        if self.is_late and self.status in OPEN:
            self.status = "expired"


@pytest.fixture
async def payments(start_registry: StartRegistry) -> Payments:
    settings = {"genesis_supply": "1000000000", "genesis_grant_amount": "1000000", "rate_limit_reads": "off"}
    return await Payments.between_two(await start_registry(**settings))


async def test_tokens_do_what_the_model_of_their_states_says(payments: Payments):
    draw = random.Random(printed_seed())
    tokens: list[ModelToken] = []
    ended: Counter[str] = Counter()
    paid, received = 0, 0
    for step in range(STEPS):
        if len(tokens) < TOKENS_AT_ONCE:
            tokens.append(await authorized(payments, draw))
        token = draw.choice(tokens)
        before = token.status
        await act(payments, token, tokens, draw)
        if (before, token.status) != ("settled", "settled") and token.status == "settled":
            paid, received = paid + token.cost, received + token.amount
        listed = await payments.listed(token.token_id)
        assert listed["status"] == token.status, step
        for over in [one for one in tokens if one.status not in OPEN and draw.random() < 0.3]:
            ended[over.status] += 1
            tokens.remove(over)
        held = sum(one.held for one in tokens)
        assert await payments.balances() == (
            plain(1_000_000 * MINOR - paid - held),
            plain(1_000_000 * MINOR + received),
        ), step
    assert ended
    assert set(ended) <= {"settled", "released", "expired"}
    registry = payments.registry
    await registry.database.read(prove_tokens)
    await registry.database.read(prove_book)
    await prove_supply(registry.supply)


async def authorized(payments: Payments, draw: random.Random) -> ModelToken:
    amount = draw.randint(1, 20) * FEE_DIVISOR * draw.choice((1, 1000, 10**6))
    kind = draw.choice(({}, {"reserve": True}, {"capture_by": "payee"}))
    made = await payments.authorized(plain(amount), **kind)
    return ModelToken(made["token"], made["token_id"], amount, made["capture_by"], made["reserved"])


async def act(payments: Payments, token: ModelToken, tokens: list[ModelToken], draw: random.Random) -> None:
    """One request about one token, or a sweep of all."""
    by = draw.choice(("caller", "payee"))
    agent = payments.caller if by == "caller" else payments.service
    match draw.choice(("verify", "verify", "settle", "settle", "not settle", "release", "pass", "sweep")):
        case "verify":
            answer = await payments.verify(token.secret)
            assert answer["error"] == token.verified()
        case "settle":
            answer = await payments.settle(token.secret, by=agent, wait=20)
            assert answer.status_code == token.settled(by, success=True), answer.text
        case "not settle":
            answer = await payments.settle(token.secret, by=agent, success=False)
            assert answer.status_code == token.settled(by, success=False), answer.text
        case "release":
            answer = await payments.release(token.secret, by=agent)
            assert answer.status_code == token.released(by), answer.text
        case "pass":
            await payments.past_expiry(token.token_id)
            token.is_late = True
        case "sweep":
            await expire_due_tokens(payments.registry.runtime)
            for one in tokens:
                one.swept()


def plain(minor: int) -> str:
    """Minor units as the registry writes them."""
    text = f"{minor // MINOR}.{minor % MINOR:08d}"
    return text.rstrip("0").rstrip(".")
