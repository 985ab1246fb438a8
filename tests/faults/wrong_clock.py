"""An application whose clock is wrong: whatever it asks of its own clock is off by a shift; the database's is right."""

import datetime as dt
import sys
import time as time_module
from datetime import datetime, timedelta, tzinfo
from random import Random
from types import ModuleType
from typing import Any

import pytest

_real_time, _real_time_ns, _real_datetime = time_module.time, time_module.time_ns, datetime

DAY = 24 * 3600.0
SHIFTS = (1.0, -1.0, 300.0, -300.0, 25 * 3600.0, -25 * 3600.0, 400 * DAY, -400 * DAY)


class WrongClock:
    """The clock of this process while a test holds it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shift = 0.0
        replaced: dict[int, Any] = {
            id(_real_time): self._time,
            id(_real_time_ns): self._time_ns,
            id(_real_datetime): self._datetime(),
        }
        for module in _modules_of_the_application():
            for name, value in list(vars(module).items()):
                if id(value) in replaced:
                    monkeypatch.setattr(module, name, replaced[id(value)])

    def jump(self, random: Random) -> None:
        """Go somewhere else, forwards or backwards: by a second, minutes, a day, a year, or to a turn of the year."""
        shifts = (*SHIFTS, self._to_the_turn_of_the_year())
        self.shift = random.choice(shifts)

    def _to_the_turn_of_the_year(self) -> float:
        now = _real_datetime.fromtimestamp(_real_time(), tz=dt.UTC)
        turn = now.replace(year=now.year + 1, month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
        return (turn - now - timedelta(seconds=0.5)).total_seconds()

    def _time(self) -> float:
        return _real_time() + self.shift

    def _time_ns(self) -> int:
        return _real_time_ns() + int(self.shift * 10**9)

    def _datetime(self) -> type[datetime]:
        seconds_now = self._time

        class AnyDatetime(type):
            def __instancecheck__(cls, instance: object) -> bool:
                return isinstance(instance, _real_datetime)

        class WrongDatetime(_real_datetime, metaclass=AnyDatetime):
            def __new__(cls, *args: Any, **kwargs: Any) -> Any:
                """Return an object of the real class: encoders accept no other."""
                return _real_datetime(*args, **kwargs)

            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Any:
                return _real_datetime.fromtimestamp(seconds_now(), tz)

            @classmethod
            def today(cls) -> Any:
                return cls.now()

            @classmethod
            def utcnow(cls) -> Any:
                return cls.now(dt.UTC).replace(tzinfo=None)

        return WrongDatetime


def _modules_of_the_application() -> list[ModuleType]:
    ours = [module for name, module in sys.modules.items() if name.split(".")[0] in {"hansa", "joserfc"}]
    return [*ours, time_module, dt]
