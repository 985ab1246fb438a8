"""The book according to the specification: the answer to each order, and the balances of all parties afterwards.

Amounts are decimals of whole units, times are whole minutes. Written from the published rules alone, so that it can
judge the service. Where the rules leave the order of two refusals open, it is the order of `transfer` below.
"""

import re
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction

SMALLEST = Decimal("0.00000001")
LARGEST = Decimal(10) ** 10
WINDOW_MINUTES = 60
KEY_MINUTES = 24 * 60
MESSAGE_MAX = 256

EXACT = Context(prec=120)
RATE_BASE, RATE_MAX = Fraction(5, 1000), Fraction(5, 100)
TURNOVER_BASE, TURNOVER_MAX = Fraction(1), Fraction(10)


@dataclass(frozen=True)
class Answer:
    """A status and the money in the body; the bodies of other refusals hold none."""

    status: int
    money: dict[str, str] = field(default_factory=dict)
    is_replay: bool = False


@dataclass
class Holder:
    """An agent's account with all that happened to it."""

    balance: Decimal = Decimal(0)
    is_suspended: bool = False
    sent: list[tuple[int, Decimal]] = field(default_factory=list)
    held: list[tuple[int, Decimal]] = field(default_factory=lambda: [(0, Decimal(0))])


class Refusal(Exception):
    """A refused order."""

    def __init__(self, status: int, **money: str) -> None:
        super().__init__(status)
        self.answer = Answer(status, money)


class Model:
    """A registry with a treasury, a fee collector and agents."""

    def __init__(self, supply: Decimal) -> None:
        self.treasury = supply
        self.fees = Decimal(0)
        self.agents: dict[str, Holder] = {}
        self._minute = 0
        self._kept: dict[tuple[str, str], tuple[int, object, Answer]] = {}

    def open(self, did: str) -> None:
        self.agents[did] = Holder()

    def grant(self, did: str, amount: Decimal) -> bool:
        if amount > self.treasury:
            return False
        self.treasury -= amount
        self._move(did, amount)
        return True

    def suspend(self, did: str, *, suspended: bool) -> None:
        self.agents[did].is_suspended = suspended

    def elapse(self, minutes: int) -> None:
        self._minute += minutes

    def transfer(
        self, payer: str, payee: str, amount: object, message: str | None = None, key: str | None = None
    ) -> Answer:
        if not is_amount(amount) or len(message or "") > MESSAGE_MAX:
            return Answer(422)
        assert isinstance(amount, str)
        body, slot = (payee, amount, message), (payer, key or "")
        if key is not None and slot in self._kept:
            minute, kept_body, answer = self._kept[slot]
            if self._minute - minute < KEY_MINUTES:
                return (
                    Answer(answer.status, answer.money, is_replay=True) if body == kept_body else Answer(422)
                )
        try:
            answer = self._carry_out(payer, payee, Decimal(amount))
        except Refusal as refusal:
            return refusal.answer
        if key is not None:
            self._kept[slot] = (self._minute, body, answer)
        return answer

    def _carry_out(self, payer: str, payee: str, amount: Decimal) -> Answer:
        if payer == payee:
            raise Refusal(400)
        if re.fullmatch(r"did:[^:]*:system:[^:]*", payee):
            raise Refusal(403)
        if payee not in self.agents:
            raise Refusal(404)
        if self.agents[payer].is_suspended or self.agents[payee].is_suspended:
            raise Refusal(403)
        fee = self.fee_on(payer, amount)
        balance, required = self.agents[payer].balance, EXACT.add(amount, fee)
        if required > balance:
            raise Refusal(402, available=plain(balance), required=plain(required))
        self.agents[payer].sent.append((self._minute, amount))
        self._move(payer, -required)
        self._move(payee, amount)
        self.fees += fee
        left = plain(self.agents[payer].balance)
        return Answer(200, {"amount": plain(amount), "fee_amount": plain(fee), "new_sender_balance": left})

    def _move(self, did: str, delta: Decimal) -> None:
        holder = self.agents[did]
        holder.balance = EXACT.add(holder.balance, delta)
        holder.held.append((self._minute, holder.balance))

    def fee_on(self, payer: str, amount: Decimal) -> Decimal:
        """0.5 % up to one turnover an hour of the most that was held, then in a line to 5 % at ten."""
        holder, start = self.agents[payer], self._minute - WINDOW_MINUTES
        sent = sum((amount_sent for minute, amount_sent in holder.sent if minute > start), Decimal(0))
        held_before = [balance for minute, balance in holder.held if minute <= start][-1:]
        most_held = max(held_before + [balance for minute, balance in holder.held if minute > start])
        # In fractions: a quotient that is cut off anywhere would hide a fee that lies halfway between two units.
        turnover = Fraction(sent) / Fraction(most_held) if most_held else Fraction(0)
        climbed = (min(max(turnover, TURNOVER_BASE), TURNOVER_MAX) - TURNOVER_BASE) / (
            TURNOVER_MAX - TURNOVER_BASE
        )
        rate = RATE_BASE + climbed * (RATE_MAX - RATE_BASE)
        return Decimal(round(Fraction(amount) * rate / Fraction(SMALLEST))) * SMALLEST


def is_amount(value: object) -> bool:
    """A decimal string of up to 8 fraction digits, above zero, at most 10^10; a JSON number is none."""
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]+(\.[0-9]{1,8})?", value, re.ASCII):
        return False
    return 0 < EXACT.create_decimal(value) <= LARGEST


def plain(amount: Decimal) -> str:
    """Print the amount as the service must: no exponent, no trailing zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
