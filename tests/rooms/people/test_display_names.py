"""Display names that count as one."""

import pytest

from hansa.rooms.people.confusables import readings


def alike(one, other):
    return bool(set(readings(one)) & set(readings(other)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ian", "lan"),
        ("Ian", "IAN"),
        ("mAlL", "MAIL"),
        ("modern", "rnodern"),
        ("Modern", "rnodern"),
        ("раураl", "paypal"),
        ("Agent 1", "Agent l"),
        ("user0", "userO"),
        ("ｆｕｌｌ", "full"),
        ("ﬁnance", "finance"),
        ("Straße", "STRASSE"),
        ("Jose\u0301", "Jos\u00e9"),
        ("a\u00a0b", "a b"),
        ("π-shop", "п-shop"),
    ],
)
def test_names_that_read_alike_are_one(one, other):
    assert alike(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mail", "mall"),
        ("Neil", "Nell"),
        ("Ada", "Ida"),
        ("Jose", "José"),
        ("a b", "ab"),
        ("Agent 1", "Agent 2"),
    ],
)
def test_names_that_read_differently_are_two(one, other):
    assert not alike(one, other)


def test_a_name_that_unfolds_to_many_characters_still_has_readings_of_fixed_size():
    assert {len(reading) for reading in readings("\ufdfa" * 64)} == {32}
