"""Drawn histories of one run: a world of tokens, services and an owner, processes that die, and a judge of what was paid."""

import random
from collections import Counter
from types import ModuleType
from typing import Any

import msgspec

from hansa.foundation.values.money import Minor
from hansa.rooms.pipelines import machine as true_machine
from hansa.rooms.pipelines.definition import Definition, Step
from hansa.rooms.pipelines.machine import ENDED, FINAL, RESUMABLE, UNDECIDED, Attempt, OutOfPlace

ACTS, PATIENCE = 40, 400
LIVE = {"queued", "running", "waiting_approval", "waiting_funds"}


class Token(msgspec.Struct):
    """A token; `answered`: the answer of the service stands in the commit that settles it."""

    step: str
    n: int
    amount: int
    status: str = "open"
    answered: bool = False


class World:
    """The database of one run: its rows outlive every process."""

    def __init__(self, definition: Definition) -> None:
        self.definition, self.budget, self.balance = definition, int(definition.budget), 10**9
        self.state = true_machine.begun(definition)
        self.tokens: list[Token] = []
        self.again: Counter[str] = Counter()

    @property
    def spent(self) -> int:
        return sum(one.amount for one in self.tokens if one.status == "settled")

    @property
    def open(self) -> int:
        return sum(one.amount for one in self.tokens if one.status == "open")

    def covers(self, amount: int) -> bool:
        """The CHECK of the budget."""
        return self.spent + self.open + amount <= self.budget

    def last_of(self, step: str) -> Token:
        return [one for one in self.tokens if one.step == step][-1]


class WorldWithoutOpen(World):
    """The planted fault: the budget is judged without open amounts."""

    def covers(self, amount: int) -> bool:
        return self.spent + amount <= self.budget


def machine_that_pays_again() -> ModuleType:
    """The planted fault: an unknown attempt is taken for a failed one."""
    faulty = ModuleType("faulty")
    faulty.__dict__.update(true_machine.__dict__)

    def on_ended(definition: Definition, state: Any, step_id: str, **ended: Any) -> Any:
        ended["is_paid"] = ended["is_paid"] and ended["is_answered"]
        return true_machine.on_ended(definition, state, step_id, **ended)

    faulty.__dict__["on_ended"] = on_ended
    return faulty


def drawn_definition(chance: random.Random) -> Definition:
    """A graph of a few steps; each needs some of those before it."""
    steps: list[Step] = []
    for number in range(chance.choice([1, 2, 2, 3, 4, 6])):
        needs = tuple(one.id for one in steps if chance.random() < 0.4)
        steps.append(
            Step(
                f"s{number}",
                f"did:x:{number}",
                Minor(chance.choice([1, 2, 3])),
                needs=needs,
                attempts=chance.choice([1, 1, 2, 3]),
                on_failure=(failure := chance.choice(["stop", "stop", "skip", "fallback"])),
                fallback="did:x:f" if failure == "fallback" else None,
                approval=chance.random() < 0.15,
            )
        )
    return Definition("drawn", tuple(steps), Minor(chance.choice([2, 4, 6, 10, 20])), 60)


class History:
    """One life of a run."""

    def __init__(
        self, chance: random.Random, world: type[World] = World, machine: ModuleType = true_machine
    ) -> None:
        self.chance, self.machine = chance, machine
        self.world = world(drawn_definition(chance))
        # Attempts under way in processes: each with its token, if authorized, and its call, if made.
        self.hand: list[tuple[Attempt, Token | None]] = []
        self.ends: dict[str, Any] = {}
        self.seen: set[str] = set()
        self.is_fair = False

    def live(self) -> None:
        """Let everything happen; then let nothing fail any more until the run has ended or waits for its owner."""
        for _ in range(ACTS):
            self.act()
            self.judge()
        self.is_fair = True
        for _ in range(PATIENCE):
            if self.rests():
                return
            self.work()
            self.judge()
        raise AssertionError("the run neither ends nor waits for anybody")

    def rests(self) -> bool:
        state = self.world.state
        return (
            not state.has_open
            and state.status in {*ENDED, "waiting_approval", "waiting_funds"}
            and not (self.machine.attempts_of(self.world.definition, state))
        )

    def act(self) -> None:
        acts = (
            [self.work] * 12
            + [self.crash] * 3
            + [self.decide] * 2
            + [self.resume, self.cancel, self.pass_deadline]
        )
        rare = {self.cancel, self.pass_deadline}
        act = self.chance.choice(acts)
        if act in rare and self.chance.random() < 0.8:
            act = self.work
        act()

    def apply(self, fact: str, *given: Any, **named: Any) -> bool:
        """One commit of a transition; False where it is out of place."""
        try:
            changed = getattr(self.machine, fact)(self.world.definition, self.world.state, *given, **named)
        except OutOfPlace:
            return False
        self.world.state = changed
        return True

    def crash(self) -> None:
        """The process dies; sometimes another takes over while it still goes on, since it lost its lease only."""
        if self.chance.random() < 0.7:
            self.hand.clear()
        else:
            self.hand = [one for one in self.hand if self.chance.random() < 0.5] * 2

    def work(self) -> None:
        """One step of a process, of a service, or of the job that ends tokens."""
        world = self.world
        if world.state.status == "queued":
            self.apply("on_picked_up")
        wanted = self.machine.attempts_of(world.definition, world.state)
        known = [attempt for attempt, _ in self.hand]
        self.hand += [(one, None) for one in wanted if one not in known]
        moves = [lambda one=one: self.go_on(one) for one in self.hand]
        moves += [
            lambda one=one: self.end_left(one)
            for one in world.tokens
            if one.status == "open" and self.is_left(one)
        ]
        moves += [lambda one=one: self.look(one) for one in world.state.steps if one.is_open]
        if moves:
            self.chance.choice(moves)()

    def is_left(self, token: Token) -> bool:
        return all(held is not token for _, held in self.hand)

    def go_on(self, one: tuple[Attempt, Token | None]) -> None:
        attempt, token = one
        self.hand.remove(one)
        if token is None:
            self.try_attempt(attempt)
        elif token.status == "open":
            self.answer(token)

    def try_attempt(self, attempt: Attempt) -> None:
        chance = 0.0 if self.is_fair else self.chance.random()
        step = self.world.definition.step(attempt.step)
        if 0.0 < chance < 0.1:
            self.apply("on_refused", step.id, "refused")
        elif 0.1 <= chance < 0.13:
            self.apply("on_impossible", step.id, "reference_absent")
        elif 0.13 <= chance < 0.16:
            self.apply("on_unmet", step.id)
        elif 0.16 <= chance < 0.22 and attempt.approval_id is None:
            self.apply("on_approval_asked", step.id, "approval")
        elif 0.22 <= chance < 0.25:
            self.apply("on_short", step.id, "waiting_funds")
        else:
            amount = self.chance.randint(1, int(step.max_amount))
            if not self.world.covers(amount):
                self.apply("on_short", step.id, "budget_exceeded")
            elif self.apply("on_authorized", step.id, attempt.n):
                token = Token(step.id, attempt.n, amount)
                self.world.tokens.append(token)
                if chance < 0.9:
                    # Else the answer of the commit is lost, with the token.
                    self.hand.append((attempt, token))

    def answer(self, token: Token) -> None:
        chance = 0.5 if self.is_fair else self.chance.random()
        if chance < 0.6:
            token.status, token.answered = "settled", True
        elif chance < 0.8:
            token.status = "released"
        # Else no answer: the job ends the token later.

    def end_left(self, token: Token) -> None:
        """The end of a token whose process is gone or got no answer: released, or paid by somebody who has it."""
        token.status = "released" if self.is_fair or self.chance.random() < 0.7 else "settled"

    def look(self, step: Any) -> None:
        token = self.world.last_of(step.id)
        if token.status != "open":
            is_paid = token.status == "settled"
            self.apply("on_ended", step.id, is_paid=is_paid, is_answered=token.answered, reason=None)

    def decide(self) -> None:
        undecided = [one for one in self.world.state.steps if one.status in UNDECIDED]
        if not undecided:
            return
        step, is_approved = self.chance.choice(undecided), self.chance.random() < 0.7
        if (
            self.apply("approve" if is_approved else "deny", step.id)
            and is_approved
            and step.status == "unknown"
        ):
            self.world.again[step.id] += 1

    def resume(self) -> None:
        was = self.world.state.status
        if self.apply("resume"):
            assert was in RESUMABLE
            self.world.budget += self.chance.choice([0, 0, 3])
            self.ends.clear()

    def cancel(self) -> None:
        self.apply("cancel")

    def pass_deadline(self) -> None:
        self.apply("expire")

    def judge(self) -> None:
        """No step is paid twice, the budget holds, ended runs stay, and a step is done when it was paid and answered."""
        world, state = self.world, self.world.state
        self.seen.add(state.status)
        assert world.spent + world.open <= world.budget, "over the budget"
        paid = Counter(one.step for one in world.tokens if one.status == "settled")
        assert all(paid[step] <= 1 + world.again[step] for step in paid), "paid twice"
        assert len({(one.step, one.n) for one in world.tokens}) == len(world.tokens), "a number used twice"
        open_ones = [one.step for one in world.tokens if one.status == "open"]
        assert len(open_ones) == len(set(open_ones)), "two tokens open for one step"
        if state.status in ENDED:
            assert not state.has_open
            assert not open_ones, "ended with an open token"
            if state.status in FINAL:
                self.ends.setdefault("state", state)
                self.ends.setdefault("spent", world.spent)
            if "state" in self.ends:
                assert (state, world.spent) == (self.ends["state"], self.ends["spent"]), (
                    "an ended run changed"
                )
        else:
            assert state.status in LIVE
            assert "state" not in self.ends, "an ended run lives"
        for step in state.steps:
            if step.status == "succeeded":
                assert (world.last_of(step.id).status, world.last_of(step.id).answered) == ("settled", True)
        assert sum(one.status == "running" for one in state.steps) <= true_machine.STEPS_AT_ONCE
