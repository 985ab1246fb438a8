"""`python -m tests.relevance.measure`: NDCG@10 in all, by kind and by query, and the findings of the worst queries."""

import asyncio
import tempfile
from pathlib import Path
from statistics import mean

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from hansa.foundation.plumbing.telemetry.log import configure_logs
from tests.registry import DatabaseFarm, open_registry

from .asking import publish_corpus, rankings
from .corpus import KINDS, JudgedQuery, queries
from .ndcg import ndcg

WORST = 25


async def measured(asked: list[JudgedQuery]) -> dict[str, list[str]]:
    """Return the findings of each query on a registry of its own."""
    with tempfile.TemporaryDirectory(prefix="hansa-relevance-") as directory:
        server = EmbeddedPostgres(Path(directory) / "postgres")
        farm = DatabaseFarm(await server.start())
        await farm.prepare()
        async with open_registry(await farm.fresh(), Path(directory) / "registry") as registry:
            await publish_corpus(registry)
            found = await rankings(registry, asked)
        await farm.clear()
        await server.stop()
    return found


def report(asked: list[JudgedQuery], found: dict[str, list[str]]) -> str:
    """The report."""
    values = {query.id: ndcg(found[query.id], query.judgments) for query in asked}
    lines = [f"all            {mean(values.values()):.3f}  ({len(asked)} queries)"]
    for kind in KINDS:
        of_kind = [values[query.id] for query in asked if query.kind == kind]
        lines.append(f"{kind:<14} {mean(of_kind):.3f}  ({len(of_kind)})")
    lines.append("")
    ordered = sorted(asked, key=lambda query: values[query.id])
    lines.extend(f"{values[query.id]:.3f}  {query.id:<15} {query.q}" for query in ordered)
    for query in ordered[:WORST]:
        lines += ["", f"{query.id} {query.q!r}: {values[query.id]:.3f}; found and grades:"]
        lines += [f"  {query.judgments.get(card, 0)}  {card}" for card in found[query.id]]
        missed = [card for card in query.judgments if card not in found[query.id]]
        lines.append(f"  not found: {', '.join(missed) or 'none'}")
    return "\n".join(lines)


async def _main() -> None:
    configure_logs("warning", "console")
    asked = queries()
    print(report(asked, await measured(asked)))


if __name__ == "__main__":
    asyncio.run(_main())
