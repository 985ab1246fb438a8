"""Awards beside everything else: rulings against an agent of the registry that rules, whose complainant another one compensates.

A payment is disputed once; a dispute that a restore lost is filed and ruled again under another number. The functions are those of
the service; which rows they find, and the order in which it asks them, is repeated here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from hansa.rooms.commerce.slash_settlements import settlement as awards
from hansa.rooms.commerce.slash_settlements.settlement import Award, Claim, Receipt, Settlement, Status
from hansa.rooms.transfers.crossing.messages import Message

from .bridging import is_current, observed, positions_of
from .model import Registry, require
from .simulation import RESEND_SECONDS
from .together import BusySwappingRegistry, TogetherHistory


@dataclass
class Awards:
    """What a registry keeps of the awards with one peer; disputes by payment, settlements by dispute."""

    disputes: dict[str, int] = field(default_factory=dict)
    awarded: dict[int, Settlement] = field(default_factory=dict)
    owed: dict[int, Settlement] = field(default_factory=dict)
    signed: dict[int, tuple[Claim, Award]] = field(default_factory=dict)
    """The award by which was paid, as its author signed it."""
    slashed: dict[str, int] = field(default_factory=dict)
    paid: dict[str, int] = field(default_factory=dict)
    due: set[int] = field(default_factory=set)
    """Awards that are sent again since a restore."""
    shown: set[int] = field(default_factory=set)
    """Awards that were paid, and are shown to their author until it has confirmed them."""

    def copy(self) -> "Awards":
        return Awards(*(type(kept)(kept) for kept in vars(self).values()))


class AwardingRegistry(BusySwappingRegistry):
    """A registry that also awards to complainants of its peers, and pays what they award."""

    awards: dict[str, Awards]

    def begin_beside(self) -> None:
        super().begin_beside()
        self.awards = {peer: Awards() for peer in self.toward}

    def copy(self) -> "AwardingRegistry":
        copied = super().copy()
        assert isinstance(copied, AwardingRegistry)
        copied.awards = {peer: kept.copy() for peer, kept in self.awards.items()}
        return copied

    def reopen(self, peer: str) -> None:
        super().reopen(peer)
        kept = self.awards[peer]
        kept.due |= {dispute for dispute, one in kept.awarded.items() if one.status is Status.SETTLED}
        kept.shown |= {dispute for dispute, one in kept.owed.items() if one.status is Status.SETTLED}

    def issued_since(self) -> int:
        kept = self.awards.values()
        return super().issued_since() + sum(
            sum(one.paid.values()) - sum(one.slashed.values()) for one in kept
        )

    def decide(self, peer: str, claim: Claim, payment: str, compensation: int) -> None:
        """An administrator rules, within what the peer has shown of an earlier ruling."""
        kept = self.awards[peer]
        if _about(kept.awarded, claim, payment) is not None:
            return
        slashed = self._destroy(kept, payment, claim.amount)
        if slashed:
            new = awards.awarded(claim, slashed, compensation, 0.0, payment)
            kept.awarded[claim.dispute_id] = new
        self._require_sound()

    def due_awards(self, peer: str) -> Iterator[tuple[Claim, Award]]:
        """What is sent to the complainant's registry."""
        kept = self.awards[peer]
        for dispute, one in kept.awarded.items():
            if one.status is Status.SLASHED or dispute in kept.due:
                yield one.claim, Award(one.slashed, one.compensation, payment=one.payment)

    def take_award(self, peer: str, claim: Claim, award: Award, positions: Message) -> Receipt | None:
        """As `awarding.take_award`."""
        kept, payment = self.awards[peer], award.payment
        assert payment is not None
        if not observed(self, peer, positions):
            return None
        paid = _about(kept.owed, claim, payment)
        if paid is not None and paid.status is Status.SETTLED and awards.is_other_award(paid, claim, award):
            kept.shown.add(paid.claim.dispute_id)
            return None
        known = kept.owed.get(claim.dispute_id)
        if known is None:
            refusal = "COMPLAINANT_UNKNOWN" if claim.amount % 11 == 0 else None
            known = kept.owed[claim.dispute_id] = awards.compensated(claim, award, refusal, 0.0)
            if refusal is None:
                self._issue(kept, payment, award.compensation)
                kept.signed[claim.dispute_id] = claim, award
                self._record(peer, known)
                kept.shown.add(claim.dispute_id)
        self._require_sound()
        return Receipt(claim, known.status, known.reason, award)

    def take_receipt(self, peer: str, receipt: Receipt, positions: Message, sent: Message) -> None:
        """The peer has an award of this registry."""
        if not self.is_confirmed(peer, positions, sent):
            return
        kept, dispute = self.awards[peer], receipt.claim.dispute_id
        one = kept.awarded.get(dispute)
        if one is None or not awards.is_of(receipt, one):
            return
        if one.is_closed and dispute not in kept.due:
            return
        after = kept.awarded[dispute] = awards.acknowledged(one, receipt)
        kept.due.discard(dispute)
        if one.status is Status.SLASHED and after.status is Status.SETTLED:
            self._record(peer, after)

    def take_paid(
        self, peer: str, claim: Claim, award: Award, positions: Message, *, has_units: bool
    ) -> Receipt | None:
        """As `paid_awards.take_paid`."""
        kept, payment = self.awards[peer], award.payment
        assert payment is not None
        if not observed(self, peer, positions):
            return None
        known = _about(kept.awarded, claim, payment)
        if known is not None and known.status is Status.SETTLED:
            if is_current(self, peer, positions):
                kept.due.discard(known.claim.dispute_id)
            return Receipt(claim, Status.SETTLED, award=award)
        if known is not None and awards.is_sent(known, claim, award):
            return None
        left = awards.left_to_destroy(known, award) if has_units else 0
        done = self._destroy(kept, payment, left)
        before = replace(awards.awarded(claim, 0, 0, 0.0, payment), status=Status.SLASHING)
        after = awards.after_payment(known or before, award, done)
        kept.awarded[after.claim.dispute_id] = after
        if after.status is Status.SETTLED:
            self._record(peer, after)
        self._require_sound()
        return Receipt(claim, after.status, after.reason, award)

    def take_receipt_of_paid(self, peer: str, receipt: Receipt, positions: Message, sent: Message) -> None:
        """The registry that ruled has recorded that its award was paid."""
        if self.is_confirmed(peer, positions, sent) and receipt.status is Status.SETTLED:
            self.awards[peer].shown.discard(receipt.claim.dispute_id)

    def _destroy(self, kept: Awards, payment: str, most: int) -> int:
        slashed = min(self.units, most)
        self.units, self.issued = self.units - slashed, self.issued - slashed
        kept.slashed[payment] = kept.slashed.get(payment, 0) + slashed
        return slashed

    def _issue(self, kept: Awards, payment: str, amount: int) -> None:
        self.units, self.issued = self.units + amount, self.issued + amount
        kept.paid[payment] = kept.paid.get(payment, 0) + amount


class AwardHistory(TogetherHistory):
    """Everything at once, with awards. What a restore lost is filed and ruled again, with amounts of its own."""

    def registry(self, name: str, limit: int, blocked: frozenset[str]) -> Registry:
        return AwardingRegistry(name, 300_000, limit, 100_000, blocked)

    def begin(self) -> None:
        self.numbers = self.shown_without_effect = 0
        self.payments: list[tuple[str, str, str]] = []
        self.largest: dict[str, int] = {}
        """What an administrator ruled for a payment at most."""
        super().begin()

    def run(self) -> "AwardHistory":
        super().run()
        for payment, ruler, peer in self.payments:
            ruling = self._awards(ruler, peer)
            _require_paid_once(payment, ruling, self._awards(peer, ruler))
            largest = self.largest.get(payment, 0)
            require(ruling.slashed.get(payment, 0) <= largest, "more was destroyed than was ruled", payment)
        return self

    def counted(self) -> dict[str, int]:
        kept = [self._awards(ruler, peer) for _, ruler, peer in self.payments]
        settled = sum(one.status is Status.SETTLED for found in kept for one in found.awarded.values())
        is_restored = any(one.was_restored for one in self._busy())
        return {
            **super().counted(),
            "awards": settled,
            "awards after a restore": settled if is_restored else 0,
            "awards shown without effect": self.shown_without_effect,
        }

    def _plan(self, names: list[str]) -> None:
        super()._plan(names)
        for n in range(self.rng.randint(0, 3)):
            ruler = self.rng.choice(self._busy()).name
            peer = self.rng.choice(list(self._of(ruler).toward))
            self.payments.append((f"p{n}", ruler, peer))
            for _ in range(2):
                self._at(self.rng.uniform(0, 150), lambda found=self.payments[-1]: self._go_on(*found))

    def _restore(self, name: str) -> None:
        super()._restore(name)
        for payment, ruler, peer in self.payments:
            for _ in range(2):
                again = self.now + self.rng.uniform(0, 100)
                self._at(again, lambda found=(payment, ruler, peer): self._go_on(*found))

    def _go_on(self, payment: str, ruler: str, peer: str) -> None:
        """The dispute about a payment is filed, or else decided."""
        one, kept = self._awarding(ruler), self._awards(ruler, peer)
        if payment not in kept.disputes:
            self.numbers += 1
            kept.disputes[payment] = self.numbers
            return
        amount = self.rng.randint(1, 900)
        self.largest[payment] = max(amount, self.largest.get(payment, 0))
        claim = Claim(kept.disputes[payment], f"did:{ruler}", f"did:{peer}:{payment}", amount, "AVT")
        one.decide(peer, claim, payment, self.rng.randint(1, amount))

    def _round(self, name: str) -> None:
        super()._round(name)
        one = self._awarding(name)
        for peer, kept in one.awards.items():
            for claim, award in list(one.due_awards(peer)):
                positions = positions_of(one, peer)
                self._travel(
                    "award", lambda c=claim, a=award, p=positions, to=peer: self._award(name, to, c, a, p)
                )
            for dispute in sorted(kept.shown):
                claim, award = kept.signed[dispute]
                positions = positions_of(one, peer)
                self._travel(
                    "paid", lambda c=claim, a=award, p=positions, to=peer: self._paid(name, to, c, a, p)
                )

    def _award(self, author: str, to: str, claim: Claim, award: Award, sent: Message) -> None:
        # A limit of the peer is used up for a while.
        if claim.amount % 5 == 0 and self.now < 10 * RESEND_SECONDS:
            return
        receipt = self._awarding(to).take_award(author, claim, award, sent)
        if receipt is not None:
            positions = positions_of(self._of(to), author)
            self._travel("receipt", lambda: self._awarding(author).take_receipt(to, receipt, positions, sent))

    def _paid(self, author: str, to: str, claim: Claim, award: Award, sent: Message) -> None:
        has_units = claim.amount % 3 != 0 or self.now > self.quiet_after - 100
        receipt = self._awarding(to).take_paid(author, claim, award, sent, has_units=has_units)
        if receipt is not None:
            self.shown_without_effect += receipt.status is Status.FAILED
            positions = positions_of(self._of(to), author)
            self._travel(
                "receipt", lambda: self._awarding(author).take_receipt_of_paid(to, receipt, positions, sent)
            )

    def _awarding(self, name: str) -> AwardingRegistry:
        one = self.honest[name]
        assert isinstance(one, AwardingRegistry)
        return one

    def _awards(self, name: str, peer: str) -> Awards:
        return self._awarding(name).awards[peer]


def _about(kept: dict[int, Settlement], claim: Claim, payment: str) -> Settlement | None:
    """A settlement of this dispute, or of this payment; a settled one first."""
    found = [one for dispute, one in kept.items() if dispute == claim.dispute_id or one.payment == payment]
    found.sort(key=lambda one: (one.status is not Status.SETTLED, one.claim.dispute_id))
    return found[0] if found else None


def _require_paid_once(payment: str, ruling: Awards, paying: Awards) -> None:
    ruled = [one for one in ruling.awarded.values() if one.payment == payment]
    paid = [one for one in paying.owed.values() if one.payment == payment and one.status is Status.SETTLED]
    require(len(ruled) <= 1, "two awards for one payment", payment, ruled)
    require(len(paid) <= 1, "a payment was compensated twice", payment, paid)
    issued, destroyed = paying.paid.get(payment, 0), ruling.slashed.get(payment, 0)
    require(issued == sum(one.compensation for one in paid), "what was issued is not recorded", payment)
    require(not ruled or destroyed == ruled[0].slashed, "what was destroyed is not recorded", payment)
    require(issued <= destroyed, "more was issued than was destroyed", payment, issued, destroyed)
    for one in ruled:
        require(one.is_closed and not ruling.due & {one.claim.dispute_id}, "an award without an end", one)
        is_paid = one.status is Status.SETTLED
        require(is_paid == bool(paid), "the sides disagree about an award", one, paid)
        require(not paid or one.compensation == paid[0].compensation, "the compensation differs", one, paid)
    require(not paid or bool(ruled), "an award was paid that nobody knows", payment, paid)
    require(not paying.shown & {one.claim.dispute_id for one in paid}, "a payment is not confirmed", payment)
