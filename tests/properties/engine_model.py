"""The engine according to the published rules, with a fee and a velocity of its own. Amounts are minor units."""

import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

LIQUID, STAKED, ESCROW, TRANSIT = range(1, 5)
HOUR = 60


class Account:
    def __init__(self, liquid: int) -> None:
        self.funds, self.is_active = {LIQUID: liquid, STAKED: 0, ESCROW: 0, TRANSIT: 0}, True
        self.sent: list[tuple[int, int]] = []
        self.held = [(0, liquid)]


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


@dataclass
class Crossing:
    body: tuple[str, int, int]
    state: str = "reserved"


class Refusal(Exception):
    pass


class Model:
    def __init__(self, collector: str) -> None:
        self.accounts: dict[str, Account] = {}
        self.holds: list[Hold] = []
        self.crossings: dict[tuple[str, str], Crossing] = {}
        self.kept: dict[str, str] = {}
        self.collector, self.minute = collector, 0

    def fee(self, payer: str, amount: int) -> int:
        account, start = self.accounts[payer], self.minute - HOUR
        sent = sum(one for minute, one in account.sent if minute > start)
        most = max(
            [held for minute, held in account.held if minute <= start][-1:]
            + [h for m, h in account.held if m > start]
        )
        turnover = min(max(Fraction(sent, most) if most else Fraction(0), Fraction(1)), Fraction(10))
        return round(amount * (Fraction(5, 1000) + (turnover - 1) / 9 * Fraction(45, 1000)))

    def move(self, name: str | None, bucket: int, delta: int) -> None:
        if name is not None:
            account = self.accounts[name]
            account.funds[bucket] += delta
            if bucket == LIQUID:
                account.held.append((self.minute, account.funds[LIQUID]))

    def run(self, orders: list[dict[str, Any]]) -> list[str]:
        """The outcome of each order, all together as one group where they have a group."""
        first = orders[0]
        if first.get("scope") and first["scope"] in self.kept:
            known = "replayed" if self.kept[first["scope"]] == first["digest"] else "key_reused"
            return [known] + ["undone"] * (len(orders) - 1)
        before = copy.deepcopy((self.accounts, self.holds, self.crossings))
        outcomes: list[str] = []
        for place, order in enumerate(orders):
            try:
                outcomes.append(self.one(order))
            except Refusal as refusal:
                self.accounts, self.holds, self.crossings = before
                outcomes = ["undone"] * len(orders)
                outcomes[place] = str(refusal)
                return outcomes
        if first.get("scope"):
            self.kept[first["scope"]] = first["digest"]
        return outcomes

    def one(self, order: dict[str, Any]) -> str:  # noqa: C901, PLR0912
        more = order.get("more") or {"fee": "on_top", "paced": "sent"}
        debit, credit, amount = order["debit"], order["credit"], order["amount"]
        source, target = more.get("from", LIQUID), more.get("to", LIQUID)
        fee, rest, hold = more.get("fixed_fee", 0), 0, None
        if named := more.get("capture") or more.get("release"):
            if not 0 < named["id"] <= len(self.holds):
                raise Refusal("hold_unknown")
            hold = self.holds[named["id"] - 1]
            debit, source = hold.payer, ESCROW
            if "release" in more:
                credit, amount = debit, self.freed(hold, named)
            else:
                credit = None if named.get("destroyed") else credit or hold.payee
                fee = self.captured_fee(hold, amount)
                rest = hold.left - amount - fee if named.get("final") else 0
        if cross := more.get("crossing"):
            key, step = (cross["direction"], cross["transfer_id"]), cross["step"]
            agent = debit if cross["direction"] == "out" else credit
            if self.is_repeated(key, step, (agent, amount, cross.get("fee", 0))):
                return "repeated"
            if step != "reserve":
                credit, amount, fee = self.crossings[key].body
        self.require_parties(debit, credit, more, is_same_allowed=source != target and "capture" not in more)
        mode = more.get("fee", "none")
        if mode in ("on_top", "held") and "fixed_fee" not in more:
            fee = self.fee(debit, amount)
        if cross and (cross["direction"] == "out") == (step == "commit"):
            if step == "reserve" and self.net_in(debit) + amount > cross["net_in_limit"]:
                raise Refusal("beyond_net_in")
            self.step(key, step, (agent, amount, cross.get("fee", 0)))
            return "recorded"
        if more.get("at_most"):
            amount = min(amount, self.accounts[debit].funds[source])
            if not amount:
                return "nothing"
        out = amount + rest + (0 if mode == "inside" else fee)
        if debit and source != TRANSIT and self.accounts[debit].funds[source] < out:
            raise Refusal("uncovered")
        if cross:
            self.step(key, step, (agent, amount, fee))
        if more.get("paced") == "sent":
            self.accounts[debit].sent.append((self.minute, amount))
        self.move(debit, source, -out)
        self.move(credit, target, amount + {"inside": -fee, "held": fee}.get(mode, 0))
        self.move(debit if rest else None, LIQUID, rest)
        self.move(self.collector if mode != "held" else None, LIQUID, fee)
        if "hold" in more:
            self.holds.append(Hold(debit, more["hold"]["payee"], amount, fee, order["expires"], left=out))
        elif hold:
            hold.left -= out
            if "capture" in more:
                hold.captured, hold.fee_captured = hold.captured + amount, hold.fee_captured + fee
        return "posted"

    def is_repeated(self, key: tuple[str, str], step: str, body: tuple[str, int, int]) -> bool:
        found, done = self.crossings.get(key), {"commit": "committed", "abort": "aborted"}
        if step == "reserve":
            if found and found.body != body:
                raise Refusal("crossing_differs")
            return found is not None
        if not found or found.state not in ("reserved", done[step]):
            raise Refusal("crossing_decided" if found else "crossing_unknown")
        return found.state != "reserved"

    def step(self, key: tuple[str, str], step: str, body: tuple[str, int, int]) -> None:
        if step == "reserve":
            self.crossings[key] = Crossing(body)
        else:
            self.crossings[key].state = {"commit": "committed", "abort": "aborted"}[step]

    def net_in(self, transit: str) -> int:
        reserved = sum(one.body[1] for one in self.crossings.values() if one.state == "reserved")
        return reserved - self.accounts[transit].funds[TRANSIT]

    def is_due(self, hold: Hold) -> bool:
        return hold.expires is not None and hold.expires <= self.minute and not hold.is_frozen

    def freed(self, hold: Hold, named: dict[str, Any]) -> int:
        if not hold.left or (named.get("due") and not self.is_due(hold)):
            raise Refusal("hold_not_due" if hold.left else "hold_ended")
        return hold.left

    def captured_fee(self, hold: Hold, amount: int) -> int:
        if not hold.left or self.is_due(hold):
            raise Refusal("hold_expired" if hold.left else "hold_ended")
        if amount > hold.amount - hold.captured:
            raise Refusal("hold_exceeded")
        return round(Fraction((hold.captured + amount) * hold.fee, hold.amount)) - hold.fee_captured

    def require_parties(
        self, debit: str, credit: str, more: dict[str, Any], *, is_same_allowed: bool
    ) -> None:
        sides = [(debit, "debit", 1), (credit, "credit", 2)]
        for name, side, _ in sides:
            if name and name not in self.accounts:
                raise Refusal(f"{side}_unknown")
        if debit and (
            debit == more.get("hold", {}).get("payee") or (debit == credit and not is_same_allowed)
        ):
            raise Refusal("same_party")
        for name, side, bit in sides:
            if more.get("active", 3) & bit and not self.accounts[name].is_active:
                raise Refusal(f"{side}_suspended")
