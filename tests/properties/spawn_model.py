"""Tree of children as the specification has it (8, section 5), in minor units and seconds: a pure judge of every act."""

from dataclasses import dataclass, field

DEPTH_MAX, LIVING_MAX, PER_MINUTE = 3, 50, 10
TTL_MIN, TTL_MAX, TTL_DEFAULT = 60, 30 * 86_400, 86_400


class Refusal(Exception):
    """The status of an act that changes nothing."""


def require(condition: object, status: int) -> None:
    if not condition:
        raise Refusal(status)


def fee(amount: int) -> int:
    """0.5 %, half to even."""
    whole, rest = divmod(amount * 5, 1000)
    return whole + (rest > 500 or (rest == 500 and whole % 2))


def swept(liquid: int) -> int:
    """The largest amount that the balance covers with its fee."""
    amount = liquid * 1000 // 1005
    while amount + 1 + fee(amount + 1) <= liquid:
        amount += 1
    while amount + fee(amount) > liquid:
        amount -= 1
    return amount


@dataclass
class Member:
    """An agent of the tree. `named`: an administrator suspended it itself; `limit` is its per_tx_max."""

    parent: "Member | None"
    liquid: int
    born: int = 0
    ends: int | None = None
    depth: int = 0
    limit: int | None = None
    named: bool = False
    of_ancestor: bool = False
    ending: bool = False
    revoked: bool = False
    children: list["Member"] = field(default_factory=list)

    @property
    def status(self) -> str:
        if self.revoked:
            return "revoked"
        return "suspended" if self.named or self.of_ancestor else "active"

    @property
    def state(self) -> str:
        return "ended" if self.revoked else "ending" if self.ending else "living"

    @property
    def living(self) -> "list[Member]":
        return [child for child in self.children if not child.revoked]

    def below(self) -> "list[Member]":
        """The living below, parents first."""
        return [one for child in self.living for one in (child, *child.below())]


class Model:
    """One tree, whose root nobody spawned, and an agent outside of it that is paid."""

    def __init__(self, liquid: int) -> None:
        self.members = [Member(None, liquid)]
        self.now = 0
        self.outside = 0

    def spawn(self, number: int, funding: int, ttl: int | None, limit: int | None) -> str:
        parent = self.members[number]
        require(parent.status == "active", 403)
        require(not parent.ending, 409)
        living = sum(not one.revoked for one in self.members[1:])
        recent = sum(one.born > self.now - 60 for one in self.members[1:])
        require(living < LIVING_MAX and recent < PER_MINUTE, 429)
        require(parent.depth < DEPTH_MAX, 409)
        # Between two acts some time passes, so that what is left is less than a whole number of seconds.
        left = TTL_MAX if parent.ends is None else parent.ends - self.now - 1
        require((ttl or TTL_MIN) <= left, 422)
        require(limit is None or parent.limit is None or limit <= parent.limit, 422)
        require(parent.limit is None or funding <= parent.limit, 403)
        require(parent.liquid >= funding + fee(funding), 402)
        parent.liquid -= funding + fee(funding)
        child = Member(
            parent,
            funding,
            born=self.now,
            ends=self.now + (ttl or min(TTL_DEFAULT, left)),
            depth=parent.depth + 1,
            limit=parent.limit if limit is None else limit,
        )
        parent.children.append(child)
        self.members.append(child)
        return "done"

    def pay(self, number: int, amount: int) -> str:
        payer = self.members[number]
        require(payer.status == "active" and not payer.ending, 403)
        require(payer.limit is None or amount <= payer.limit, 403)
        require(payer.liquid >= amount + fee(amount), 402)
        payer.liquid -= amount + fee(amount)
        self.outside += amount
        return "done"

    def limit(self, number: int, most: int) -> str:
        """The owner bounds each payment of the agent, and so those of the living below."""
        agent = self.members[number]
        require(not agent.revoked and not agent.ending, 409)
        parent = agent.parent
        require(parent is None or parent.limit is None or most <= parent.limit, 422)
        agent.limit = most
        for one in agent.below():
            if not one.ending and (one.limit is None or one.limit > most):
                one.limit = most
        return "done"

    def suspend(self, number: int) -> str:
        agent = self.members[number]
        if agent.revoked:
            return "revoked"
        was = agent.status
        agent.named = True
        for one in agent.below():
            one.of_ancestor = True
        return "suspended" if was == "active" else "already_suspended"

    def reinstate(self, number: int) -> str:
        agent = self.members[number]
        if agent.revoked:
            return "revoked"
        if agent.parent is not None and agent.parent.status == "suspended":
            agent.named, agent.of_ancestor = False, True
            return "parent_suspended"
        was = agent.status
        agent.named = agent.of_ancestor = False
        self._return(agent)
        return "already_active" if was == "active" else "reinstated"

    def _return(self, agent: Member) -> None:
        for child in agent.living:
            if child.of_ancestor and not child.named:
                child.of_ancestor = False
                self._return(child)
            child.of_ancestor = False

    def revoke(self, number: int) -> str:
        agent = self.members[number]
        if agent.status != "suspended":
            return "already_revoked" if agent.revoked else "not_suspended"
        for one in (agent, *agent.below()):
            one.revoked = True
        return "revoked"

    def end(self, number: int) -> str:
        child = self.members[number]
        require(child.parent is not None, 404)
        if child.revoked:
            return "ended"
        require(child.ending or not child.living, 409)
        child.ending = True
        self._sweep(child)
        return child.state

    def work(self) -> str:
        """The job goes on with every end that is due, until nothing moves any more."""
        for one in self.members[1:]:
            if not one.revoked and one.ends is not None and one.ends <= self.now:
                one.ending = True
        # Children before their parents.
        for one in sorted(self.members[1:], key=lambda one: -one.depth):
            if one.ending and not one.revoked:
                self._sweep(one)
        return "done"

    def pass_time(self, seconds: int) -> str:
        self.now += seconds
        return "done"

    def _sweep(self, child: Member) -> None:
        if child.status == "suspended" or child.living:
            return
        assert child.parent is not None
        assert child.parent.status == "active", "a child acts only while its parent does"
        child.parent.liquid += swept(child.liquid) if child.liquid else 0
        child.liquid, child.revoked = 0, True
