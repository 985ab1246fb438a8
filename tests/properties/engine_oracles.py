"""Questions of the model of the engine: parties that are allowed, the fee by the published rule, the units of a hold, the steps of a crossing."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

LIQUID, STAKED, ESCROW, TRANSIT = range(1, 5)
HOUR = 60
DECIDED = {"commit": "committed", "abort": "aborted"}


class Refusal(Exception):
    """The outcome of an order that is not carried out."""


class Account:
    """Four balances, and the figures that give the velocity of the last hour."""

    def __init__(self, liquid: int) -> None:
        self.funds, self.is_active = {LIQUID: liquid, STAKED: 0, ESCROW: 0, TRANSIT: 0}, True
        self.sent: list[tuple[int, int]] = []
        self.held = [(0, liquid)]

    def move(self, bucket: int, delta: int, minute: int) -> None:
        self.funds[bucket] += delta
        if bucket == LIQUID:
            self.held.append((minute, self.funds[LIQUID]))

    def fee(self, amount: int, now: int) -> int:
        start = now - HOUR
        sent = sum(one for minute, one in self.sent if minute > start)
        before = [held for minute, held in self.held if minute <= start][-1:]
        most = max(before + [held for minute, held in self.held if minute > start])
        turnover = min(max(Fraction(sent, most) if most else Fraction(0), Fraction(1)), Fraction(10))
        return round(amount * (Fraction(5, 1000) + (turnover - 1) / 9 * Fraction(45, 1000)))


@dataclass
class Hold:
    payer: str
    payee: str | None
    amount: int
    fee: int
    expires: int | None
    captured: int = 0
    fee_captured: int = 0
    left: int = 0
    is_frozen: bool = False

    def is_due(self, minute: int) -> bool:
        return self.expires is not None and self.expires <= minute and not self.is_frozen

    def freed(self, minute: int, *, when_due: bool) -> int:
        if not self.left or (when_due and not self.is_due(minute)):
            raise Refusal("hold_not_due" if self.left else "hold_ended")
        return self.left

    def fee_of_capture(self, amount: int, minute: int) -> int:
        if not self.left or self.is_due(minute):
            raise Refusal("hold_expired" if self.left else "hold_ended")
        if amount > self.amount - self.captured:
            raise Refusal("hold_exceeded")
        return round(Fraction((self.captured + amount) * self.fee, self.amount)) - self.fee_captured

    def take(self, out: int, captured: tuple[int, int] | None) -> None:
        amount, fee = captured or (0, 0)
        self.left, self.captured, self.fee_captured = (
            self.left - out,
            self.captured + amount,
            self.fee_captured + fee,
        )


@dataclass
class Crossing:
    body: tuple[str, int, int]
    state: str = "reserved"


class Crossings(dict[tuple[str, str], Crossing]):
    """By direction and transfer id; a body is agent, amount and fee."""

    def is_repeated(self, cross: dict[str, Any], body: tuple[str, int, int]) -> bool:
        found, step = self.get(key_of(cross)), cross["step"]
        if step == "reserve":
            if found and found.body != body:
                raise Refusal("crossing_differs")
            return found is not None
        if not found or found.state not in ("reserved", DECIDED[step]):
            raise Refusal("crossing_decided" if found else "crossing_unknown")
        return found.state != "reserved"

    def take(self, cross: dict[str, Any], body: tuple[str, int, int]) -> None:
        if cross["step"] == "reserve":
            self[key_of(cross)] = Crossing(body)
        else:
            self[key_of(cross)].state = DECIDED[cross["step"]]

    def reserved(self) -> int:
        return sum(one.body[1] for one in self.values() if one.state == "reserved")


def key_of(cross: dict[str, Any]) -> tuple[str, str]:
    """Return the identity of a crossing."""
    return cross["direction"], cross["transfer_id"]


def require_parties(
    accounts: dict[str, Account], debit: str, credit: str, more: dict[str, Any], *, may_be_same: bool
) -> None:
    """The outcome of an order whose parties are not there, the same or suspended. Raises: Refusal."""
    sides = [side for side in ((debit, "debit", 1), (credit, "credit", 2)) if side[0]]
    for name, side, _ in sides:
        if name not in accounts:
            raise Refusal(f"{side}_unknown")
    if debit and (debit == more.get("hold", {}).get("payee") or (debit == credit and not may_be_same)):
        raise Refusal("same_party")
    for name, side, bit in sides:
        if more.get("active", 3) & bit and not accounts[name].is_active:
            raise Refusal(f"{side}_suspended")
