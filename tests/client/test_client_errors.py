"""Error classes of refusals."""

import pytest

from hansa.doors import assembly
from hansa.foundation.values.errors import Refused
from hansa_client import errors


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.BadRequest),
        (401, errors.Unauthorized),
        (402, errors.PaymentRequired),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (405, errors.Refusal),
        (409, errors.Conflict),
        (410, errors.Gone),
        (422, errors.Invalid),
        (429, errors.TooManyRequests),
        (500, errors.ServerFailed),
        (503, errors.Unavailable),
    ],
)
def test_a_refusal_without_a_known_code_has_the_class_of_its_status(status: int, kind: type):
    assert type(errors.refusal(status, {})) is kind


def test_a_refusal_shows_its_sentence_and_its_code():
    members = {"detail": "No.", "error": {"code": "INSUFFICIENT_BALANCE", "context": {"available": "1"}}}
    refused = errors.refusal(402, members)
    assert type(refused) is errors.InsufficientBalance
    assert str(refused) == "No. (INSUFFICIENT_BALANCE)"
    assert refused.context == {"available": "1"}


def test_a_body_that_is_no_problem_document_is_a_refusal_all_the_same():
    refused = errors.refusal(404, {"error": "not an object"})
    assert (refused.code, refused.field, dict(refused.context)) == ("HTTP_404", None, {})


def test_each_class_of_a_code_has_the_code_and_status_of_a_refusal_of_the_registry():
    assert assembly.ASSEMBLY.rooms, "the rooms are loaded with their refusals"
    declared = {(kind.code, kind.status) for kind in _descendants(Refused)}
    own = {(kind.code_, kind.status_) for kind in errors.classes_of_codes()}
    assert own - declared == set()


def _descendants(kind: type) -> list[type]:
    return [kind, *(below for child in kind.__subclasses__() for below in _descendants(child))]
