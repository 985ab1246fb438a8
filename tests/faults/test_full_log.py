"""The disk of the log is full: the service goes on."""

from pathlib import Path

import httpx2

from tests.operation.conftest import Launch


async def test_requests_are_answered_although_nothing_can_be_logged(operated: Launch):
    registry = operated(LOG_LEVEL="debug")
    registry.log = Path("/dev/full")
    await registry.start()
    async with httpx2.AsyncClient(base_url=registry.url, trust_env=False, timeout=60) as http:
        answers = [
            await http.get(path) for path in ("/health", "/api/v1/public/supply-invariant", "/nowhere")
        ]
    assert [answer.status_code for answer in answers] == [200, 200, 404]
