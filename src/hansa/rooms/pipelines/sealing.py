"""Inputs and outputs of runs: sealed in the database under the key of the registry, each for its own row."""

import json
from typing import Any
from uuid import UUID

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal, SealedColumn
from hansa.foundation.values.errors import Conflict


class OutputsUnreadable(Conflict):
    """Input or outputs of the run do not open with the present key of the registry."""

    code = "PIPELINE_OUTPUTS_UNREADABLE"
    sentence = "Input or outputs of this run do not open with the present key of the registry."
    remedy = "Start another run."


def _input(run_id: UUID) -> str:
    return f"pipeline input {run_id}"


def _output(attempt_id: UUID) -> str:
    return f"pipeline output {attempt_id}"


SEALED_COLUMNS = (
    SealedColumn("pipelines_run", "id", "input", _input),
    SealedColumn("pipelines_attempt", "id", "output", _output),
)


def seal_input(seal: Seal, run_id: UUID, value: Any) -> bytes:
    """The sealed input of a run."""
    return seal.close(json.dumps(value).encode(), _input(run_id))


def open_input(seal: Seal, run_id: UUID, sealed: bytes) -> Any:
    """The input of a run. Raises: OutputsUnreadable."""
    return _opened(seal, sealed, _input(run_id))


def seal_output(seal: Seal, attempt_id: UUID, value: Any) -> bytes:
    """The sealed output of an attempt."""
    return seal.close(json.dumps(value).encode(), _output(attempt_id))


def open_output(seal: Seal, attempt_id: UUID, sealed: bytes) -> Any:
    """The output of an attempt. Raises: OutputsUnreadable."""
    return _opened(seal, sealed, _output(attempt_id))


def _opened(seal: Seal, sealed: bytes, purpose: str) -> Any:
    try:
        return json.loads(seal.open(sealed, purpose))
    except BadSeal:
        raise OutputsUnreadable from None
