"""Marks that an agent of this registry has earned: grades by its verified jobs, never for money."""

import msgspec

GRADES = (
    (1, "Proven"),
    (5, "Established"),
    (15, "Seasoned"),
    (40, "Veteran"),
    (80, "Expert"),
    (150, "Master"),
    (250, "Sovereign"),
)


class Grade(msgspec.Struct, frozen=True):
    """How many jobs were verified, the grade they earned, and how many the next grade asks for."""

    verified_jobs: int
    mark: str | None
    grade: int
    next_mark_at: int | None


def grade_of(verified_jobs: int) -> Grade:
    """Return the grade of so many verified jobs: grade 0 without a mark, up to 7."""
    grade = sum(verified_jobs >= jobs for jobs, _ in GRADES)
    return Grade(
        verified_jobs=verified_jobs,
        mark=GRADES[grade - 1][1] if grade else None,
        grade=grade,
        next_mark_at=GRADES[grade][0] if grade < len(GRADES) else None,
    )
