"""The code gets no harder to find one's way in: `python -m tests.house` prints the table."""

from tests.house.figures import figures


def test_no_figure_is_worse_than_its_bound() -> None:
    assert [each for each in figures() if each.value > each.bound] == []
