"""The answer to a bulk, of answers that are text already."""

from collections.abc import Sequence
from typing import Any

import msgspec
from fastapi.responses import Response

from hansa.foundation.plumbing.web.idempotency import answer_once
from hansa.foundation.values.errors import Refused
from hansa.rooms import ledger

from .bulk import Outcome
from .schemas import TransfersIn


def bulk_answer(body: TransfersIn, outcomes: Sequence[Outcome]) -> Response:
    """Return the outcome of each line, in order; marked as a replay when every line is one."""
    items = [
        _item(index, line.key, outcome)
        for index, (line, outcome) in enumerate(zip(body.transfers, outcomes, strict=True))
    ]
    refused = sum(isinstance(outcome, Refused) for outcome in outcomes)
    answer = {"items": items, "completed": len(items) - refused, "refused": refused}
    is_replay = all(isinstance(outcome, ledger.OrderAnswer) and outcome.replayed for outcome in outcomes)
    return answer_once(msgspec.json.encode(answer).decode(), replayed=is_replay)


def _item(index: int, key: str, outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Refused):
        error = {"code": outcome.code, "detail": outcome.detail, "context": outcome.context}
        return {"index": index, "key": key, "status": "refused", "answer": None, "error": error}
    answer = msgspec.Raw(outcome.answer.encode())
    return {"index": index, "key": key, "status": "completed", "answer": answer, "error": None}
