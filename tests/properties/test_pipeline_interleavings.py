"""Acts on pipelines and runs that meet, on real PostgreSQL, in many orders of their statements: nothing is paid twice or past its budget."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import units
from hansa.rooms import agents, commerce, people
from hansa.rooms.commerce.payments import purchase
from hansa.rooms.commerce.payments.service_call import Outcome, ServiceAnswer
from hansa.rooms.ledger import Book, grant
from hansa.rooms.people.oauth.ending import end_grant
from hansa.rooms.pipelines import machine, running
from hansa.rooms.pipelines import run_store as runs
from hansa.rooms.pipelines.errors import BudgetTooLow, PipelineRunning, PipelineUnknown, RunStateRefuses
from hansa.rooms.pipelines.records import Run
from tests.connections import connect
from tests.founded import open_copy
from tests.organizations import id_of
from tests.properties.interleaving import (
    UseCase,
    directing,
)
from tests.properties.pipeline_scene import (
    PRICE,
    Scene,
    Stage,
    StoppingPurchases,
    failed_run,
    played,
    refused,
    set_scene,
    undecided_run,
)
from tests.registry import DatabaseFarm


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
        # Payments that are made are not given back.
        rich = Book.of(registry.settings)
        await registry.database.transaction(
            lambda tx: grant(tx, payee=buyer.did, amount=units(10_000), ref="for plays", book=rich)
        )
        address = {
            "url": "https://seller.example.com/a2a",
            "protocolBinding": "JSONRPC",
            "protocolVersion": "1.0",
        }
        seller = await registry.agent(pricing={"base_rate": "1"}, supportedInterfaces=[address])
        owner = Developer(await id_of(developer), developer.email, "session", True, frozenset(), False)
        yield Stage(registry, director, owner, buyer, seller, developer)


@pytest.fixture(autouse=True)
def stopping_before_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """No service is called: a process stands still once its token is authorized."""
    monkeypatch.setattr("hansa.rooms.pipelines.attempting.commerce.PURCHASES", StoppingPurchases)


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
        lost = [refused(one, RunStateRefuses, BudgetTooLow) for one in outcomes]
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
