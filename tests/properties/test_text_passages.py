"""Laws of windows and shares: nothing of a text is lost, passages are parts of it, and shares fit where they can."""

from hypothesis import given
from hypothesis import strategies as st

from service.text.passages import LEAST_PASSAGE_CHARACTERS, WINDOW, cut_windows, fair_share, passage_around

TEXT = st.text(st.sampled_from("abc .!?\n。।") | st.characters(codec="utf-8"), max_size=3000)


@given(text=TEXT, longest=st.integers(50, 1000))
def test_windows_are_the_text_cut_at_most_after_their_length(text: str, longest: int) -> None:
    windows = cut_windows(text, longest)
    assert "".join(text[start:end] for start, end in windows) == text
    assert all(0 < end - start <= min(longest, WINDOW) for start, end in windows)


@given(text=TEXT.filter(str.strip), longest=st.integers(50, 4000), data=st.data())
def test_a_passage_is_the_part_that_it_says_and_holds_the_best_window(text: str, longest: int, data: st.DataObject) -> None:
    windows = cut_windows(text, longest)
    scores = data.draw(st.lists(st.floats(0, 1), min_size=len(windows), max_size=len(windows)))
    passage = passage_around(text, windows, scores, longest)
    assert text[passage.start : passage.end] == passage.text
    assert len(passage.text) <= longest
    start, end = windows[max(range(len(windows)), key=lambda nth: (scores[nth], -nth))]
    assert text[start:end].strip() in passage.text


@given(lengths=st.lists(st.integers(0, 5000), max_size=30), room=st.integers(0, 20_000))
def test_items_cut_to_their_share_fit_unless_there_are_too_many(lengths: list[int], room: int) -> None:
    share = fair_share(lengths, room)
    together = sum(min(length, share) for length in lengths)
    assert together <= room or share == LEAST_PASSAGE_CHARACTERS
    assert sum(lengths) > room or share >= min(4000, max(lengths, default=0))
