"""catalogue/million: search, reads and a mirrored page beside 1,000,000 cards, which are loaded once; with --full only."""

from bench import catalogue_mirror, catalogue_reads, catalogue_search
from bench.card_seed import load_cards
from bench.figures import Figures
from bench.seed import bench_runtime, temporary_directory

CARDS = 1_000_000


async def run(*, full: bool) -> Figures:
    figures = Figures()
    if not full:
        figures.notes.append("nothing to measure without --full")
        return figures
    async with temporary_directory() as directory:
        async with bench_runtime(directory) as runtime:
            await load_cards(runtime.database.dsn, CARDS)
            await catalogue_search.measure_search(runtime, figures, CARDS)
            await catalogue_reads.measure_reads(runtime.database, CARDS, figures)
            await catalogue_mirror.measure_pages(runtime, CARDS, catalogue_mirror.PAGE, figures)
        await catalogue_search.measure_served_search(directory, figures, CARDS)
    return figures
