"""Acts on pipelines and runs that meet, on real PostgreSQL, in many orders of their statements: nothing is paid twice or past its budget."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import pytest

from hansa.foundation.plumbing.jobs import Job
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, units
from hansa.rooms import agents, commerce, people
from hansa.rooms.commerce.payments import purchase, settlement_worker
from hansa.rooms.commerce.payments.service_call import Outcome, ServiceAnswer
from hansa.rooms.ledger import Book
from hansa.rooms.people.oauth.ending import end_grant
from hansa.rooms.pipelines import acting, attempting, machine, running, saving, starting
from hansa.rooms.pipelines import run_store as runs
from hansa.rooms.pipelines.advancing import RUNS, note
from hansa.rooms.pipelines.attempting import Attempting
from hansa.rooms.pipelines.definition import Definition, Step
from hansa.rooms.pipelines.errors import PipelineRunning, PipelineUnknown, RunStateRefuses
from hansa.rooms.pipelines.machine import Attempt
from hansa.rooms.pipelines.records import Pipeline, Run, RunPlace
from tests.connections import connect
from tests.founded import open_copy
from tests.organizations import id_of
from tests.properties.interleaving import (
    Choose,
    Director,
    UseCase,
    directing,
    in_some_orders,
    within_transaction,
)
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestAgent, TestDeveloper, TestRegistry

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


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    async with (
        open_copy(database_farm, tmp_path_factory.mktemp("stage")) as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        # The administrator is the first developer, who owns no agent.
        await registry.developer()
        developer = await registry.developer()
        buyer = await developer.agent()
        address = {
            "url": "https://seller.example.com/a2a",
            "protocolBinding": "JSONRPC",
            "protocolVersion": "1.0",
        }
        seller = await registry.agent(pricing={"base_rate": "1"}, supportedInterfaces=[address])
        owner = Developer(await id_of(developer), developer.email, "session", True, frozenset(), False)
        yield Stage(registry, director, owner, buyer, seller, developer)


@pytest.fixture(autouse=True)
def standing_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No service is called: a process stands still once its token is authorized."""
    monkeypatch.setattr(attempting.commerce, "PURCHASES", StoppingPurchases)


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
    """End what is left of a scene: an agent has ten runs at once, and twenty pipelines."""
    left = (
        "UPDATE pipelines_run SET status = 'cancelled', ended_at = now() WHERE ended_at IS NULL RETURNING id"
    )
    stage.cleared.extend(row["id"] for row in await stage.do(lambda tx: tx.fetch(left)))
    for statement in (
        "UPDATE pipelines_pipeline SET deleted_at = now() WHERE deleted_at IS NULL",
        "UPDATE pipelines_agent SET runs = 0",
    ):
        await stage.do(lambda tx, statement=statement: tx.execute(statement))


async def prove(stage: Stage) -> None:
    """The rows of pipelines, tokens and budgets agree."""
    broken = await stage.registry.database.read(lambda tx: tx.fetch(BROKEN, stage.cleared))
    assert [tuple(row) for row in broken] == []


Setting = Callable[[Stage], Any]
Judge = Callable[[list[Any], Scene], Any]


def refused(outcome: Any, *kinds: type[Refused]) -> bool:
    assert not isinstance(outcome, Exception) or isinstance(outcome, kinds), repr(outcome)
    return isinstance(outcome, kinds)


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


async def test_a_cancel_beside_the_commit_of_a_token_leaves_it_open_or_prevents_it(stage: Stage) -> None:
    seen = set()

    async def sides(scene: Scene) -> list[UseCase]:
        return [scene.attempt("a"), scene.cancel()]

    async def judge(outcomes: list[Any], scene: Scene) -> None:
        run = await scene.now()
        assert isinstance(outcomes[1], Run)
        if outcomes[0] == "authorized":
            assert (run.state.status, run.state.leaving) == ("running", "cancelled")
        else:
            assert (outcomes[0], run.state.status) == (True, "cancelled")
        seen.add(run.state.status)

    await played(stage, set_scene, sides, judge)
    assert seen == {"running", "cancelled"}


async def test_of_two_resumptions_at_once_one_goes_on_with_its_budget(stage: Stage) -> None:
    async def sides(scene: Scene) -> list[UseCase]:
        return [scene.resume(11), scene.resume(12)]

    async def judge(outcomes: list[Any], scene: Scene) -> None:
        lost = [refused(one, RunStateRefuses, acting.BudgetTooLow) for one in outcomes]
        assert sorted(lost) == [False, True]
        budgets = await scene.stage.registry.database.read(
            lambda tx: commerce.find_budgets(tx, [scene.run.row.id])
        )
        assert budgets[scene.run.row.id].budget == units(11 if not lost[0] else 12)
        assert (await scene.now()).state.status == "running"

    await played(stage, failed_run, sides, judge)


async def test_a_pipeline_is_deleted_before_a_start_or_not_at_all(stage: Stage) -> None:
    agent = await stage.agent()

    async def ended_run(stage: Stage) -> Scene:
        scene = await set_scene(stage)
        await stage.do(scene.cancel())
        return scene

    async def sides(scene: Scene) -> list[UseCase]:
        return [scene.delete(), scene.start(agent)]

    async def judge(outcomes: list[Any], _: Scene) -> None:
        assert refused(outcomes[0], PipelineRunning) != refused(outcomes[1], PipelineUnknown)

    await played(stage, ended_run, sides, judge)


async def test_a_pipeline_is_deleted_before_a_resumption_or_not_at_all(stage: Stage) -> None:
    async def sides(scene: Scene) -> list[UseCase]:
        return [scene.delete(), scene.resume(11)]

    async def judge(outcomes: list[Any], _: Scene) -> None:
        assert refused(outcomes[0], PipelineRunning) != refused(outcomes[1], PipelineUnknown)

    await played(stage, failed_run, sides, judge)


async def test_of_two_processes_with_one_attempt_in_hand_one_authorizes_it(stage: Stage) -> None:
    async def sides(scene: Scene) -> list[UseCase]:
        return [scene.attempt("a"), scene.attempt("a")]

    async def judge(outcomes: list[Any], scene: Scene) -> None:
        assert outcomes.count("authorized") == 1, outcomes
        assert (await scene.now()).state.step("a").made == 1

    await played(stage, set_scene, sides, judge)


async def test_two_processes_that_take_up_a_run_apply_the_end_of_a_token_once(stage: Stage) -> None:
    async def released_run(stage: Stage) -> Scene:
        scene = await set_scene(stage)
        await stage.do(scene.answered(await scene.token()))
        return scene

    async def sides(scene: Scene) -> list[UseCase]:
        return [scene.plan(), scene.plan()]

    async def judge(outcomes: list[Any], scene: Scene) -> None:
        assert all(isinstance(one, running.Plan) for one in outcomes), outcomes
        run = await scene.now()
        assert (run.state.status, run.state.step("a").made) == ("failed", 1)

    await played(stage, released_run, sides, judge)


async def test_the_budget_bounds_steps_that_are_authorized_at_once(stage: Stage) -> None:
    async def two_steps(stage: Stage) -> Scene:
        return await set_scene(stage, *stage.steps("a", "b"), budget=PRICE)

    async def sides(scene: Scene) -> list[UseCase]:
        return [scene.attempt("a"), scene.attempt("b")]

    async def judge(outcomes: list[Any], scene: Scene) -> None:
        assert sorted(map(str, outcomes)) == ["True", "authorized"], outcomes
        run = await scene.now()
        made = {step.made: step for step in run.state.steps}
        # The other step waits for the end of the token, which may give units back.
        assert (made[1].is_open, made[0].status, made[0].is_short) == (True, "pending", True)

    await played(stage, two_steps, sides, judge)


async def test_a_token_that_ends_beside_a_restart_is_read_by_it_or_by_the_next_look(stage: Stage) -> None:
    tokens: dict[UUID, UUID] = {}

    async def authorized_run(stage: Stage) -> Scene:
        scene = await set_scene(stage, *stage.steps("a", attempts=2))
        tokens[scene.run.row.id] = await scene.token()
        return scene

    async def sides(scene: Scene) -> list[UseCase]:
        return [scene.answered(tokens[scene.run.row.id]), scene.plan()]

    async def judge(outcomes: list[Any], scene: Scene) -> None:
        assert outcomes[0] == "released", outcomes
        assert isinstance(outcomes[1], running.Plan), outcomes
        later = await scene.stage.do(scene.plan())
        assert [(one.step, one.n) for one in later.attempts] == [("a", 2)]

    await played(stage, authorized_run, sides, judge)


async def test_a_payment_that_is_made_beside_a_restart_is_never_made_again(stage: Stage) -> None:
    tokens: dict[UUID, UUID] = {}

    async def settling_run(stage: Stage) -> Scene:
        scene = await set_scene(stage, *stage.steps("a", attempts=2))
        token = tokens[scene.run.row.id] = await scene.token()
        delivered = ServiceAnswer(Outcome.DELIVERED, body={"result": {}})
        book = Book.of(stage.registry.settings)
        await stage.do(
            lambda tx: purchase.end_purchase(tx, token, delivered, settle_on_timeout=False, book=book)
        )
        return scene

    async def sides(scene: Scene) -> list[UseCase]:
        return [scene.settled(tokens[scene.run.row.id]), scene.plan()]

    async def judge(outcomes: list[Any], scene: Scene) -> None:
        assert not any(isinstance(one, Exception) for one in outcomes), outcomes
        later = await scene.stage.do(scene.plan())
        assert later.attempts == []
        # The answer was not kept: only its owner has the step paid again.
        assert (await scene.now()).state.step("a").status == "unknown"

    await played(stage, settling_run, sides, judge)


async def test_of_two_decisions_on_a_step_one_counts(stage: Stage) -> None:
    async def sides(scene: Scene) -> list[UseCase]:
        return [scene.decide("a", is_approved=True), scene.decide("a", is_approved=False)]

    async def judge(outcomes: list[Any], scene: Scene) -> None:
        lost = [refused(one, RunStateRefuses) for one in outcomes]
        assert sorted(lost) == [False, True]
        assert (await scene.now()).state.status == ("failed" if lost[0] else "running")

    await played(stage, undecided_run, sides, judge)


async def test_an_approval_beside_a_cancel_lets_nothing_begin(stage: Stage) -> None:
    async def sides(scene: Scene) -> list[UseCase]:
        return [scene.decide("a", is_approved=True), scene.cancel()]

    async def judge(outcomes: list[Any], scene: Scene) -> None:
        refused(outcomes[0], RunStateRefuses)
        assert isinstance(outcomes[1], Run)
        run = await scene.now()
        assert (run.state.status, machine.attempts_of(run.definition, run.state)) == ("cancelled", [])

    await played(stage, undecided_run, sides, judge)


async def test_a_run_that_starts_beside_the_end_of_its_grant_is_cancelled(stage: Stage) -> None:
    """Its owner has not approved the step yet, so that no attempt would find that the grant has ended."""
    registry = stage.registry
    limits = {"per_call": "5", "per_day": "10"}
    client = await connect(registry, "pipelines:run", developer=stage.developer, agent=stage.buyer, **limits)
    grant = (await people.access_of(registry.runtime, client.access_token)).grant
    under = await registry.database.query(
        lambda tx: agents.acting_under(tx, stage.buyer.did, stage.owner.id, grant)
    )

    async def granted_run(stage: Stage) -> Scene:
        revived = "UPDATE people_grant SET ended_at = NULL, ended_because = NULL WHERE id = $1"
        await stage.do(lambda tx: tx.execute(revived, grant.id))
        return await undecided_run(stage)

    async def ended(tx: Tx) -> None:
        await end_grant(tx, grant.id, "revoked")
        # The reactor of the event finds no run that is not committed by now.
        await runs.ask_cancel_of_grant(tx, grant.id)

    async def sides(scene: Scene) -> list[UseCase]:
        return [scene.start(under), ended]

    async def judge(outcomes: list[Any], scene: Scene) -> None:
        assert isinstance(outcomes[0], Run), outcomes
        begun = replace(scene, run=outcomes[0])
        await stage.do(begun.plan())
        assert (await begun.now()).state.status == "cancelled"

    await played(stage, granted_run, sides, judge)
