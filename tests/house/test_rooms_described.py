"""The descriptor of a room agrees with its code."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hansa.doors.assembly import ASSEMBLY
from hansa.foundation.plumbing.assembled import SETTINGS
from hansa.foundation.plumbing.room import Metric, Room
from hansa.foundation.plumbing.telemetry import metrics

ROOMS = Path(metrics.__file__).parents[3] / "rooms"
DESCRIBED = {room.name: room for room in ASSEMBLY.rooms if (ROOMS / room.name).is_dir()}
METRICS = {name: value for name, value in vars(metrics).items() if isinstance(value, Metric)}
METRIC_NAME = re.compile(rf"\b(?:{'|'.join(METRICS)})\b")
READ_SETTING = re.compile(r"(?:settings|config)\.([a-z_0-9]+)")


def sources(room: str) -> Iterator[str]:
    for path in sorted((ROOMS / room).rglob("*.py")):
        yield path.read_text()


def metrics_named_in(text: str) -> set[Metric]:
    return {METRICS[name] for name in METRIC_NAME.findall(text)}


def test_every_room_is_in_the_assembly():
    assert set(DESCRIBED) == {path.name for path in ROOMS.iterdir() if (path / "__init__.py").exists()}


@pytest.mark.parametrize("room", DESCRIBED.values(), ids=lambda room: room.name)
def test_a_room_declares_the_settings_that_it_reads(room: Room):
    read = {name for text in sources(room.name) for name in READ_SETTING.findall(text)}
    assert room.settings == read & SETTINGS


@pytest.mark.parametrize("room", DESCRIBED.values(), ids=lambda room: room.name)
def test_a_room_declares_the_metrics_that_it_writes(room: Room):
    code = [path for path in (ROOMS / room.name).rglob("*.py") if path.name != "descriptor.py"]
    written = {metric for path in code for metric in metrics_named_in(path.read_text())}
    assert set(room.metrics) == written


def test_the_state_of_an_application_has_one_attribute():
    attributes = {
        name
        for path in ROOMS.parents[0].rglob("*.py")
        for name in re.findall(r"\bapp\.state\.(\w+)", path.read_text())
    }
    assert attributes == {"runtime"}
