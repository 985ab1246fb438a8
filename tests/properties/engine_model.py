"""The engine according to the published rules, in minor units; the fee, holds and crossings are in `engine_oracles`."""

import copy
from typing import Any

from tests.properties.engine_oracles import (
    ESCROW,
    LIQUID,
    TRANSIT,
    Account,
    Crossings,
    Hold,
    Refusal,
    key_of,
    require_parties,
)


class Model:
    def __init__(self, collector: str) -> None:
        self.accounts: dict[str, Account] = {}
        self.holds: list[Hold] = []
        self.crossings = Crossings()
        self.kept: dict[str, str] = {}
        self.collector, self.minute = collector, 0

    def run(self, orders: list[dict[str, Any]]) -> list[str]:
        """The outcome of each order, all together as one group where they have a group."""
        scope, digest = orders[0].get("scope"), orders[0].get("digest")
        if scope and scope in self.kept:
            known = "replayed" if self.kept[scope] == digest else "key_reused"
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
        if scope:
            self.kept[scope] = digest
        return outcomes

    def one(self, order: dict[str, Any]) -> str:  # noqa: C901, PLR0912
        more = order.get("more") or {"fee": "on_top", "paced": "sent"}
        debit, credit, amount = order["debit"], order["credit"], order["amount"]
        source, target, mode = more.get("from", LIQUID), more.get("to", LIQUID), more.get("fee", "none")
        fee, rest, hold, cross, body = more.get("fixed_fee", 0), 0, None, more.get("crossing"), None
        if named := more.get("capture") or more.get("release"):
            if not 0 < named["id"] <= len(self.holds):
                raise Refusal("hold_unknown")
            hold = self.holds[named["id"] - 1]
            debit, source = hold.payer, ESCROW
            if "release" in more:
                credit, amount = debit, hold.freed(self.minute, when_due=named.get("due"))
            else:
                credit = None if named.get("destroyed") else credit or hold.payee
                of_hold = hold.fee_of_capture(amount, self.minute)
                fee, of_hold = (fee, 0) if mode == "inside" else (of_hold, of_hold)
                rest = hold.left - amount - of_hold if named.get("final") else 0
        if cross:
            body = (debit if cross["direction"] == "out" else credit, amount, cross.get("fee", 0))
            if self.crossings.is_repeated(cross, body):
                return "repeated"
            if cross["step"] != "reserve":
                credit, amount, fee = self.crossings[key_of(cross)].body
        may_be_same = source != target and "capture" not in more
        require_parties(self.accounts, debit, credit, more, may_be_same=may_be_same)
        if mode in ("on_top", "held") and "fixed_fee" not in more:
            fee = self.accounts[debit].fee(amount, self.minute)
        if cross and (cross["direction"] == "out") == (cross["step"] == "commit"):
            net_in = self.crossings.reserved() - (self.accounts[debit].funds[TRANSIT] if debit else 0)
            if cross["step"] == "reserve" and net_in + amount > cross["net_in_limit"]:
                raise Refusal("beyond_net_in")
            self.crossings.take(cross, body)
            return "recorded"
        if more.get("at_most"):
            amount = min(amount, self.accounts[debit].funds[source])
            if not amount:
                return "nothing"
        out = amount + rest + (0 if mode == "inside" else fee)
        if debit and source != TRANSIT and self.accounts[debit].funds[source] < out:
            raise Refusal("uncovered")
        if cross:
            self.crossings.take(cross, (body[0], amount, fee))
        if more.get("paced") == "sent":
            self.accounts[debit].sent.append((self.minute, amount))
        credited = amount + {"inside": -fee, "held": fee}.get(mode, 0)
        freed, collector = debit if rest else None, self.collector if mode != "held" else None
        paid = (debit, source, -out), (credit, target, credited)
        for name, bucket, delta in (*paid, (freed, LIQUID, rest), (collector, LIQUID, fee)):
            if name is not None:
                self.accounts[name].move(bucket, delta, self.minute)
        if "hold" in more:
            self.holds.append(Hold(debit, more["hold"]["payee"], amount, fee, order["expires"], left=out))
        elif hold:
            hold.take(out, (amount, of_hold) if "capture" in more else None)
        return "posted"
