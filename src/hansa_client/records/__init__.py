"""Typed answers of a registry. Amounts are `Decimal`, moments are aware `datetime`; members added later are ignored."""
