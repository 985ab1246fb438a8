"""Each statement fails once of audit cycles, authorizations, enforcement, enrolment, pulls and webhooks; a repetition completes each."""

from collections.abc import Awaitable, Callable

import pytest

from tests.faults.attestation_acts import CYCLES
from tests.faults.authorization_acts import AUTHORIZATIONS
from tests.faults.enforcement_acts import ENFORCEMENT
from tests.faults.enrolment_acts import ENROLMENT
from tests.faults.pull_acts import PULLS
from tests.faults.unchanged import rows_of
from tests.faults.webhook_acts import WEBHOOKS_SENT


@pytest.mark.parametrize(
    ("failing", "name"),
    rows_of(CYCLES, AUTHORIZATIONS, ENFORCEMENT, ENROLMENT, PULLS, WEBHOOKS_SENT),
    indirect=["failing"],
)
async def test_whichever_statement_of_an_act_fails_a_repetition_completes_it_once(
    failing: Callable[[str], Awaitable[None]], name: str
) -> None:
    await failing(name)
