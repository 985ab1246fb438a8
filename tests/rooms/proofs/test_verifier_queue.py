"""The queue of proofs: its places, and the share of one developer."""

from contextlib import ExitStack

import pytest

from hansa.rooms.proofs.errors import ProofsWaiting, VerifierUnavailable
from hansa.rooms.proofs.worker import WAITING_MAX, WAITING_OF_ONE, Verifier


def test_no_developer_takes_the_queue_and_a_place_that_is_left_is_free() -> None:
    verifier = Verifier()
    with ExitStack() as held:
        for number in range(WAITING_MAX):
            held.enter_context(verifier.place(number // WAITING_OF_ONE))
        with pytest.raises(VerifierUnavailable), verifier.place(WAITING_MAX):
            pass
        with pytest.raises(ProofsWaiting), verifier.place(0):
            pass
    with verifier.place(0), verifier.place(0), verifier.place(1), pytest.raises(ProofsWaiting):
        held.enter_context(verifier.place(0))


def test_a_place_is_left_by_a_proof_that_fails() -> None:
    verifier = Verifier()
    for _ in range(WAITING_OF_ONE + 1):
        with pytest.raises(ZeroDivisionError), verifier.place(0):
            raise ZeroDivisionError
