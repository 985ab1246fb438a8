"""Faults planted in the engine: a line of it, its replacement, and the first history that finds it."""

FAULTS = {
    "a release is lost": ("hold_left[h] := 0;", "hold_left[h] := hold_left[h];", 0),
    "a capture is not counted": (
        "hold_captured[h] := hold_captured[h] + amount;",
        "hold_captured[h] := hold_captured[h];",
        0,
    ),
    "the fee is taken with each capture": (" - hold_fee_captured[h];", ";", 34),
    "more than is held is captured": (
        "amount > hold_amounts[h] - hold_captured[h]",
        "amount > hold_amounts[h]",
        284,
    ),
    "an expiry comes before its time": (
        "IF (named ->> 'due')::boolean AND NOT hold_is_due[h] THEN",
        "IF (named ->> 'due')::boolean AND false THEN",
        0,
    ),
    "a capture comes after the expiry": ("ELSIF hold_is_due[h] THEN", "ELSIF false THEN", 49),
    "a hold is not counted by the velocity": (
        "IF paced = 'sent' THEN\n          now_sent",
        "IF paced = 'sent' AND own IS NULL THEN\n          now_sent",
        803,
    ),
    "a lost group leaves its first orders": ("CONTINUE walk;", "outcomes[i] := refusal; CONTINUE;", 0),
    "another body is answered as a replay": ("CASE WHEN kept_digests[i] = digests[i]", "CASE WHEN true", 16),
    "a final capture keeps the rest": ("left_over := hold_left[h] - amount - price;", "left_over := 0;", 57),
    "a reward takes what is not there": (
        "amount := least(amount, funds[p][from_bucket]);",
        "amount := amount;",
        10,
    ),
    "a transfer that is aborted twice is returned twice": (
        "IF refusal = 'repeated' THEN",
        "IF refusal = 'repeated' AND step <> 'abort' THEN",
        304,
    ),
    "what was prepared to come in does not count": (
        "CASE step WHEN 'reserve' THEN amount ELSE -amount END;",
        "0;",
        876,
    ),
    "a commit takes the amount of its order": ("amount := crossing_amounts[x];", "amount := amount;", 91),
    "a credit forgets the fee": ("price := crossing_fees[x];", "price := 0;", 518),
    "a decision is not kept": (
        "crossing_changed[x] := true;",
        "crossing_changed[x] := step = 'reserve';",
        14,
    ),
    "a suspended payee is paid": (
        "active_mask & 2 = 2 AND NOT active[q]",
        "active_mask & 2 = 2 AND NOT active[p]",
        27,
    ),
}
