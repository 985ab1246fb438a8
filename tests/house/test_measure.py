"""The table of measures is computed from the tree; followed names are found."""

import pytest

from tests.house.measure import MEASURES, main
from tests.house.names_followed import modules_followed

FOLLOWED = "hansa.rooms.commerce.payments"


def test_the_measure_prints_each_row_with_its_value_of_this_tree(capsys: pytest.CaptureFixture[str]):
    main()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["Measure", "Before", "Now", "Target"]
    assert [line.partition("  ")[0] for line in printed[1:-1]] == [name for name, *_ in MEASURES]
    places = [printed[0].index(title) for title in ("Now", "Target")]
    assert all(line[places[0] : places[1]].strip() for line in printed[1:-1])


def test_names_are_followed_through_the_packages_that_export_them():
    followed = modules_followed(f"{FOLLOWED}.settlement_worker", within=(FOLLOWED, "hansa.rooms.transfers"))
    assert {f"{FOLLOWED}.store", "hansa.rooms.transfers.crossing.paying"} <= followed
    assert not {f"{FOLLOWED}.routes", "hansa.rooms.transfers"} & followed
