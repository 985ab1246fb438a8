"""The checker of histories finds each kind of contradiction, and none where there is none."""

from dataclasses import replace

import pytest

from tests.faults.list_append import Entry, History, Reading, Rule, Transfer, find_contradictions

COLLECTOR = "fees"


def sound() -> tuple[History, dict[str, list[Entry]]]:
    """Alice pays Bob twice, one after the other; a reader comes between and one after both."""
    history = History(
        {
            "first": Transfer("first", "alice", "bob", asked=1, answered_at=2, answers=frozenset({(1, 89)})),
            "second": Transfer(
                "second", "alice", "bob", asked=5, answered_at=6, answers=frozenset({(2, 78)})
            ),
            "none": Transfer("none", "bob", "alice", asked=9, answered_at=10, is_refused=True),
        }
    )
    lists = {
        "alice": [Entry(1, "first", -11, 89), Entry(2, "second", -11, 78)],
        "bob": [Entry(1, "first", 10, 10), Entry(2, "second", 10, 20)],
        COLLECTOR: [Entry(1, "first", 1, 1), Entry(2, "second", 1, 2)],
    }
    history.readings = [
        Reading("bob", asked=3, answered_at=4, entries=tuple(lists["bob"][:1]), is_whole=True),
        Reading("bob", asked=7, answered_at=8, entries=tuple(lists["bob"][1:]), is_whole=False),
    ]
    return history, lists


def broken_rules(history: History, lists: dict[str, list[Entry]]) -> set[Rule]:
    return {finding.rule for finding in find_contradictions(history, lists, COLLECTOR)}


def test_a_sound_history_has_no_contradictions():
    assert broken_rules(*sound()) == set()


def test_a_transfer_in_one_list_alone_is_found():
    history, lists = sound()
    del lists["bob"][1]
    assert Rule.APPENDED_ONCE in broken_rules(history, lists)


def test_a_transfer_that_was_done_twice_is_found():
    history, lists = sound()
    lists["alice"].append(Entry(3, "second", -11, 67))
    lists["bob"].append(Entry(3, "second", 10, 30))
    lists[COLLECTOR].append(Entry(3, "second", 1, 3))
    assert Rule.APPENDED_ONCE in broken_rules(history, lists)


def test_a_transfer_that_nobody_asked_for_is_found():
    history, lists = sound()
    del history.transfers["second"]
    assert Rule.ASKED_FOR in broken_rules(history, lists)


def test_an_acknowledged_transfer_that_is_missing_is_found():
    history, lists = sound()
    for row in lists.values():
        row.pop()
    assert Rule.ACKNOWLEDGED in broken_rules(history, lists)


def test_a_second_answer_with_another_balance_is_found():
    history, lists = sound()
    history.transfers["second"].answers |= {(2, 89)}
    assert broken_rules(history, lists) == {Rule.ACKNOWLEDGED}


def test_a_refused_transfer_that_was_done_is_found():
    history, lists = sound()
    history.transfers["second"].answers = frozenset()
    history.transfers["second"].is_refused = True
    assert broken_rules(history, lists) == {Rule.REFUSED}


def test_a_lost_update_is_found():
    history, lists = sound()
    lists["bob"][1] = Entry(2, "second", 10, 10)
    assert Rule.BALANCE in broken_rules(history, lists)


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_reading_that_skips_an_entry_is_found(is_whole: bool):
    history, lists = sound()
    third = Transfer("third", "alice", "bob", asked=1)
    history.transfers["third"] = third
    lists["alice"].append(Entry(3, "third", -11, 67))
    lists["bob"].append(Entry(3, "third", 10, 30))
    lists[COLLECTOR].append(Entry(3, "third", 1, 3))
    entries = (lists["bob"][0], lists["bob"][2])
    history.readings = [Reading("bob", asked=7, answered_at=8, entries=entries, is_whole=is_whole)]
    assert broken_rules(history, lists) == {Rule.READING}


def test_a_reading_that_takes_the_end_of_a_list_for_all_of_it_is_found():
    history, lists = sound()
    history.readings = [replace(history.readings[1], is_whole=True)]
    assert broken_rules(history, lists) == {Rule.READING}


def test_a_list_in_another_order_than_time_is_found():
    history, lists = sound()
    history.transfers["first"].asked, history.transfers["first"].answered_at = 7, 8
    history.readings = []
    assert broken_rules(history, lists) == {Rule.CIRCLE}


def test_a_reader_that_does_not_see_what_an_earlier_one_saw_is_found():
    history, lists = sound()
    nothing = Reading("bob", asked=5, answered_at=6, entries=(), is_whole=True)
    history.readings.append(nothing)
    assert broken_rules(history, lists) == {Rule.CIRCLE}


def test_two_lists_that_hold_the_same_two_transfers_in_opposite_orders_are_found():
    history, lists = sound()
    for one in history.transfers.values():
        one.asked, one.answered_at = 1, None
    history.readings = []
    lists["bob"] = [Entry(1, "second", 10, 10), Entry(2, "first", 10, 20)]
    assert broken_rules(history, lists) == {Rule.CIRCLE}
