"""Pipelines and runs on a stage, the acts on them as use cases, and the rules that their rows keep."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from hansa.foundation.plumbing.jobs import Job
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, units
from hansa.rooms import agents, commerce
from hansa.rooms.commerce.payments import purchase, settlement_worker
from hansa.rooms.commerce.payments.service_call import Outcome, ServiceAnswer
from hansa.rooms.ledger import Book
from hansa.rooms.pipelines import acting, machine, running, saving, starting
from hansa.rooms.pipelines import run_store as runs
from hansa.rooms.pipelines.advancing import RUNS, note
from hansa.rooms.pipelines.attempting import Attempting
from hansa.rooms.pipelines.definition import Definition, Step
from hansa.rooms.pipelines.machine import Attempt
from hansa.rooms.pipelines.records import Pipeline, Run, RunPlace
from tests.properties.interleaving import (
    Choose,
    Director,
    UseCase,
    in_some_orders,
    within_transaction,
)
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier, printed_seed
from tests.registry import TestAgent, TestDeveloper, TestRegistry

ORDERS = by_tier(8, 120, 1_000)
PRICE, PLENTY = units(1), units(10)

# Rows that contradict each other: each with the rule that it breaks. $1 are runs that the test itself ended.
BROKEN = """
SELECT 'a budget is not the sum of its tokens' AS rule, b.id FROM commerce_purchase_budget b
  LEFT JOIN commerce_payment_token t ON t.purchase_budget_id = b.id
  GROUP BY b.id HAVING b.spent <> coalesce(sum(t.amount) FILTER (WHERE t.status = 'settled'), 0)
    OR b.open <> coalesce(sum(t.amount) FILTER (WHERE t.status IN ('authorized', 'consumed', 'settling')), 0)
    OR b.spent + b.open > b.budget
UNION ALL SELECT 'an ended run has an open token', r.id FROM pipelines_run r JOIN pipelines_attempt a ON a.run_id = r.id
  JOIN commerce_payment_token t ON t.id = a.token_id
  WHERE r.ended_at IS NOT NULL AND t.status IN ('authorized', 'consumed', 'settling') AND r.id <> ALL($1::uuid[])
UNION ALL SELECT 'a token of a run without an attempt, or an attempt of another budget', t.id FROM commerce_payment_token t
  LEFT JOIN pipelines_attempt a ON a.token_id = t.id
  WHERE t.purchase_budget_id IS NOT NULL AND a.run_id IS DISTINCT FROM t.purchase_budget_id
UNION ALL SELECT 'a step has other attempts than it counts', s.run_id FROM pipelines_step s
  WHERE s.made <> (SELECT count(*) FROM pipelines_attempt a WHERE a.run_id = s.run_id AND a.step = s.step)
UNION ALL SELECT 'a step has two open tokens', a.run_id FROM pipelines_attempt a JOIN commerce_payment_token t ON t.id = a.token_id
  WHERE t.status IN ('authorized', 'consumed', 'settling') GROUP BY a.run_id, a.step HAVING count(*) > 1
UNION ALL SELECT 'a run of a deleted pipeline lives', r.id FROM pipelines_run r JOIN pipelines_pipeline p ON p.id = r.pipeline_id
  WHERE p.deleted_at IS NOT NULL AND r.ended_at IS NULL
UNION ALL SELECT 'a run has ended without its event, or with two', r.id FROM pipelines_run r
  WHERE r.ended_at IS NOT NULL AND r.id <> ALL($1::uuid[]) AND 1 <> (SELECT count(*) FROM journal_event e
    WHERE e.event_type = 'PipelineRunEnded' AND e.data::jsonb ->> 'run_id' = r.id::text)
UNION ALL SELECT 'no process will work on a run', r.id FROM pipelines_run r WHERE r.ended_at IS NULL AND r.status <> 'waiting_funds'
  AND NOT EXISTS (SELECT FROM plumbing_job j WHERE j.kind = 'pipelines: runs' AND j.key = r.id::text)
"""


class Called(Exception):
    """The token is authorized and the service would be called now."""


class Stopping(purchase.Purchases):
    """Purchases whose process stands still before the call of the service."""

    async def _call(self, *_: Any) -> ServiceAnswer:
        raise Called


class StoppingPurchases:
    """Stands in the place of the purchases of a process."""

    @staticmethod
    def of(runtime: Any) -> Stopping:
        return Stopping(runtime)


@dataclass(frozen=True)
class Stage:
    """A registry, an agent with its owner, an agent that sells, and a connection of the owner."""

    registry: TestRegistry
    director: Director
    owner: Developer
    buyer: TestAgent
    seller: TestAgent
    developer: TestDeveloper
    cleared: list[UUID] = field(default_factory=list)

    async def do(self, use_case: UseCase) -> Any:
        return await self.registry.database.transaction(use_case)

    async def execute(self, statement: str) -> None:
        await self.do(lambda tx: tx.execute(statement))

    async def agent(self) -> Agent:
        return await self.registry.database.query(lambda tx: agents.active_agent(tx, self.buyer.did))

    def steps(self, *names: str, **members: Any) -> tuple[Step, ...]:
        return tuple(Step(name, self.seller.did, PRICE, "x", **members) for name in names)


@dataclass(frozen=True)
class Scene:
    """A pipeline with a run."""

    stage: Stage
    pipeline: Pipeline
    run: Run

    @property
    def place(self) -> RunPlace:
        return RunPlace(self.stage.buyer.did, self.pipeline.id, self.run.row.id)

    async def now(self) -> Run:
        found = await self.stage.registry.database.query(lambda tx: runs.find(tx, self.run.row.id))
        assert found is not None
        return found

    def attempt(self, step: str, n: int = 1) -> UseCase:
        """A process makes this attempt, up to the call of the service."""

        async def made(tx: Tx) -> Any:
            runtime = within_transaction(self.stage.registry.runtime, tx)
            run = await runs.find(tx, self.run.row.id)
            assert run is not None
            try:
                return await Attempting(runtime, run, Attempt(step, n, self.stage.seller.did)).make()
            except Called:
                return "authorized"

        return made

    def plan(self) -> UseCase:
        """A process takes up the run."""
        job = Job(id=0, kind=RUNS, key=str(self.run.row.id), payload={}, attempts=1, fencing_token=0)
        hand = running._Hand(self.stage.registry.runtime)
        return lambda tx: running._plan(tx, job, self.run.row.id, hand)

    def cancel(self) -> UseCase:
        return lambda tx: acting.cancel(tx, self.stage.owner, self.place)

    def resume(self, budget: int) -> UseCase:
        return lambda tx: acting.resume(tx, self.stage.owner, self.place, units(budget))

    def decide(self, step: str, *, is_approved: bool) -> UseCase:
        return lambda tx: acting.decide(tx, self.stage.owner, self.place, step, is_approved=is_approved)

    def delete(self) -> UseCase:
        return lambda tx: saving.delete(tx, self.stage.owner, self.stage.buyer.did, self.pipeline.id)

    def start(self, agent: Agent) -> UseCase:
        seal = self.stage.registry.runtime.seal
        return lambda tx: starting.start(tx, agent, agent.did, self.pipeline.id, seal, given={}, budget=None)

    def answered(self, token: UUID) -> UseCase:
        """The commit that ends the token by an answer that is a failure."""
        answer = ServiceAnswer(Outcome.FAILED, trouble="no")
        book = Book.of(self.stage.registry.settings)
        attempt = Attempting(self.stage.registry.runtime, self.run, Attempt("a", 1, self.stage.seller.did))

        async def ended(tx: Tx) -> str:
            done = await purchase.end_purchase(tx, token, answer, settle_on_timeout=False, book=book)
            await attempt._answered(tx, done, answer)
            return done.status

        return ended

    def settled(self, token: UUID) -> UseCase:
        """The commit that pays a settling token."""
        book = Book.of(self.stage.registry.settings)
        return lambda tx: settlement_worker._pay_or_time_out(tx, token, book)

    async def token(self, step: str = "a") -> UUID:
        """The token of an attempt that is authorized now."""
        assert await self.stage.do(self.attempt(step)) == "authorized"
        made = await self.stage.registry.database.query(lambda tx: runs.attempts(tx, self.run.row.id))
        (found,) = [one.token_id for one in made if one.step == step]
        assert found is not None
        return found


async def set_scene(stage: Stage, *steps: Step, budget: Minor = PLENTY) -> Scene:
    """A new pipeline, and a run of it that a process has taken up."""
    did, seal = stage.buyer.did, stage.registry.runtime.seal
    definition = Definition("Chain", steps or stage.steps("a"), budget, 3600)
    pipeline = await stage.do(lambda tx: saving.add(tx, did, definition))
    actor = await stage.agent()
    run = await stage.do(lambda tx: starting.start(tx, actor, did, pipeline.id, seal, given={}, budget=None))
    scene = Scene(stage, pipeline, run)
    await scene.stage.do(scene.plan())
    return replace(scene, run=await scene.now())


async def clear(stage: Stage) -> None:
    """End what is left of a scene: an agent has ten runs at once, twenty pipelines, and so many open tokens."""
    book = Book.of(stage.registry.settings)
    await stage.do(lambda tx: commerce.release_all(tx, stage.buyer.did, book))
    left = (
        "UPDATE pipelines_run SET status = 'cancelled', ended_at = now() WHERE ended_at IS NULL RETURNING id"
    )
    stage.cleared.extend(row["id"] for row in await stage.do(lambda tx: tx.fetch(left)))
    for statement in (
        "UPDATE pipelines_pipeline SET deleted_at = now() WHERE deleted_at IS NULL",
        "UPDATE pipelines_agent SET runs = 0",
    ):
        await stage.execute(statement)


async def prove(stage: Stage) -> None:
    """The rows of pipelines, tokens and budgets agree."""
    broken = await stage.registry.database.read(lambda tx: tx.fetch(BROKEN, stage.cleared))
    assert [tuple(row) for row in broken] == []


async def failed_run(stage: Stage) -> Scene:
    scene = await set_scene(stage)
    await stage.do(
        lambda tx: note(
            tx, scene.run.row.id, lambda definition, state: machine.on_impossible(definition, state, "a", "x")
        )
    )
    return scene


async def undecided_run(stage: Stage) -> Scene:
    return await set_scene(stage, *stage.steps("a", approval=True))


def refused(outcome: Any, *kinds: type[Refused]) -> bool:
    assert not isinstance(outcome, Exception) or isinstance(outcome, kinds), repr(outcome)
    return isinstance(outcome, kinds)


def leaning(choose: Choose) -> Choose:
    """Choices that lean to one side, more or less: an attempt has five times the statements of the acts beside it."""
    lean = choose(101)
    return lambda options: int(choose(100) >= lean) if options == 2 else choose(options)


async def played(
    stage: Stage,
    make: Callable[[Stage], Any],
    sides: Callable[[Scene], Any],
    judge: Callable[[list[Any], Scene], Any],
) -> None:
    async def play(choose: Choose) -> None:
        scene = await make(stage)
        outcomes = await stage.director.play([*await sides(scene)], leaning(choose))
        await judge(outcomes, scene)
        await prove(stage)
        await clear(stage)

    await in_some_orders(play, count=ORDERS, seed=printed_seed())
    await stage.registry.database.read(prove_book)
