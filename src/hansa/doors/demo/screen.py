"""Screen of the demo: its steps, progress bars, and a countdown while it waits.

On a terminal bars and countdowns move; elsewhere each is a few plain lines, so that a log stays readable.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

LINE_EVERY_SECONDS = 10
LINES_PER_BAR = 4

Sleep = Callable[[float], Awaitable[object]]


class Screen:
    """Prints to one console."""

    def __init__(self, console: Console, steps: int, sleep: Sleep = asyncio.sleep) -> None:
        self.console = console
        self._steps = steps
        self._sleep = sleep
        self._step = 0
        self._is_counting_down = False
        self._progress = Progress(
            TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn(), console=console
        )

    def step(self, title: str) -> None:
        """Begin the next step."""
        self._step += 1
        self.console.print(f"[bold]{self._step}/{self._steps}[/] {title}")

    def line(self, text: str) -> None:
        """Print a result of the present step."""
        self.console.print(f"  {text}", soft_wrap=True)

    @contextmanager
    def bar(self, what: str, total: int) -> Iterator[Callable[[], None]]:
        """Show a progress bar; call the yielded function after each of `total` parts."""
        if self.console.is_terminal:
            with self._progress:
                task = self._progress.add_task(what, total=total)
                yield lambda: self._progress.advance(task)
            return
        done = 0

        def advance() -> None:
            nonlocal done
            done += 1
            if done * LINES_PER_BAR % total < LINES_PER_BAR:
                self.line(f"{what}: {done} of {total}")

        yield advance

    async def wait(self, seconds: int, reason: str) -> None:
        """Wait, with a countdown. Several waits at the same moment share one countdown."""
        if self._is_counting_down:
            await self._sleep(seconds)
            return
        self._is_counting_down = True
        try:
            await self._count_down(seconds, reason)
        finally:
            self._is_counting_down = False

    async def _count_down(self, seconds: int, reason: str) -> None:
        if not self.console.is_terminal:
            for left in range(seconds, 0, -1):
                if (seconds - left) % LINE_EVERY_SECONDS == 0:
                    self.line(f"{reason}: retry in {left} s")
                await self._sleep(1)
            return
        is_alone = not self._progress.live.is_started
        task = self._progress.add_task("", total=seconds)
        if is_alone:
            self._progress.start()
        try:
            for left in range(seconds, 0, -1):
                self._progress.update(task, description=f"{reason}: retry in {left} s", refresh=True)
                await self._sleep(1)
                self._progress.advance(task)
        finally:
            self._progress.remove_task(task)
            if is_alone:
                self._progress.stop()
