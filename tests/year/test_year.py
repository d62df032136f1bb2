"""Two days of two teams, as `python -m tests.year` lives them. What happens to machines is left to the long one, and to tests/distributed."""

import pytest

from tests.year.__main__ import year

pytestmark = pytest.mark.release


def test_a_year_in_two_days_keeps_every_promise_that_is_asked() -> None:
    asked = year(2, 2, 2, 7, said=False, machines=False)
    assert asked.ledger.wrong == {}
    assert {"L4", "M2", "M3", "M6", "W1", "W3", "W4", "X1", "X2", "X3", "X4", "X6"} <= set(asked.ledger.asked)
    assert len(asked.months) == 2
