"""Questions of kinds that say themselves when there is work: those that are asked in one turn are one statement."""

from collections.abc import Mapping

import msgspec

from hansa.foundation.plumbing.storage.database import Tx


class Question(msgspec.Struct, frozen=True):
    """Statement that reads one row with one boolean: whether there is work.

    It has no parameters: with some, the server would plan the statement of several questions anew for each of the first times.
    """

    statement: str

    async def __call__(self, tx: Tx) -> bool:
        """The answer now."""
        return bool(await tx.fetchval(self.statement))


async def ask(tx: Tx, questions: Mapping[str, Question]) -> dict[str, bool]:
    """The answers to several questions, by their names, in one round trip and one snapshot."""
    row = await tx.fetchrow(f"SELECT {', '.join(f'({one.statement})' for one in questions.values())}")
    assert row is not None
    return dict(zip(questions, map(bool, row.values()), strict=True))
