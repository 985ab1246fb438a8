"""Metrics and the names of failing jobs are for the machine of the registry, or for a holder of the token or of the internal key."""

from pathlib import Path

import httpx2
import pytest

from tests.registry import StartRegistry, TestRegistry

TOKEN = "a-token-of-tests-for-metrics"
ELSEWHERE = ("203.0.113.9", 4711)


async def ask(
    registry: TestRegistry,
    path: str,
    *,
    client: tuple[str, int] = ("127.0.0.1", 4711),
    **headers: str | bytes,
) -> httpx2.Response:
    """The answer to a request of a client with this address."""
    transport = httpx2.ASGITransport(app=registry.app, raise_app_exceptions=False, client=client)
    async with httpx2.AsyncClient(transport=transport, base_url="http://registry.test") as http:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return await http.get(path, headers=sent)


async def test_the_machine_of_the_registry_reads_its_metrics(registry: TestRegistry):
    for address in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        answer = await ask(registry, "/metrics", client=(address, 4711))
        assert (answer.status_code, "hansa_build_info" in answer.text) == (200, True)


@pytest.mark.parametrize("header", ["X_Forwarded_For", "Forwarded", "X_Real_IP", "Via", "X_Forwarded_Host"])
async def test_a_request_that_a_proxy_passed_on_is_not_of_the_machine(registry: TestRegistry, header: str):
    answer = await ask(registry, "/metrics", **{header: "127.0.0.1"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "AUTH_FAILED")


async def test_another_machine_reads_no_metrics_without_a_token(registry: TestRegistry):
    answer = await ask(registry, "/metrics", client=ELSEWHERE)
    assert answer.status_code == 401
    assert "METRICS_TOKEN" in answer.json()["detail"]
    assert "hansa_" not in answer.text


async def test_the_token_admits_its_holder_from_anywhere_and_nobody_else(start_registry: StartRegistry):
    registry = await start_registry(metrics_token=TOKEN)
    held = {"Authorization": f"Bearer {TOKEN}"}
    assert (await ask(registry, "/metrics", client=ELSEWHERE, **held)).status_code == 200
    assert (await ask(registry, "/metrics", **held)).status_code == 200
    for wrong in (
        {},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": TOKEN},
        {"Authorization": b"Bearer \xe9"},
    ):
        for client in (ELSEWHERE, ("127.0.0.1", 4711)):
            assert (await ask(registry, "/metrics", client=client, **wrong)).status_code == 401


async def test_the_token_of_a_file_admits_its_holder_and_the_variable_wins(
    start_registry: StartRegistry, tmp_path: Path
):
    file = tmp_path / "metrics-token"
    file.write_text(f"{TOKEN}-of-the-file\n")
    for settings, token in (
        ({}, f"{TOKEN}-of-the-file"),
        ({"metrics_token": TOKEN}, TOKEN),
    ):
        registry = await start_registry(metrics_token_file=file, **settings)
        for held, status in ((token, 200), ("another-token-for-metrics", 401)):
            header = {"Authorization": f"Bearer {held}"}
            assert (await ask(registry, "/metrics", client=ELSEWHERE, **header)).status_code == status
        assert (await ask(registry, "/metrics")).status_code == 401


async def test_the_internal_key_admits_from_anywhere(registry: TestRegistry):
    key = {"X_Internal_Key": registry.runtime.internal_key}
    assert (await ask(registry, "/metrics", client=ELSEWHERE, **key)).status_code == 200
    assert (await ask(registry, "/metrics", client=ELSEWHERE, X_Internal_Key="wrong" * 8)).status_code == 401


async def test_readyz_names_failing_jobs_to_observers_alone(registry: TestRegistry):
    registry.runtime.jobs.failed("tests: a job with a name", ZeroDivisionError())
    own = await ask(registry, "/readyz")
    [failing] = own.json()["failing_jobs"]
    assert failing["name"] == "tests: a job with a name"
    public = await ask(registry, "/readyz", client=ELSEWHERE)
    assert (public.status_code, public.json()["status"]) == (200, "ok")
    assert "failing_jobs" not in public.json()
    assert "a job with a name" not in public.text
