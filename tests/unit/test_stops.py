from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from apply_edit.decode.stops import StopText


@given(
    st.text(alphabet="ab<", max_size=30),
    st.lists(st.integers(0, 30)),
    st.text("ab<", min_size=1, max_size=4),
)
def test_pieces_give_the_text_up_to_the_first_stop(text, cuts, stop):
    """However the text is cut into pieces, what comes out is the text before the first stop."""
    stops = StopText([stop])
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    out = "".join(stops.push(text[a:b]) for a, b in pairwise(places))
    if not stops.found:
        out += stops.flush()
    assert stops.found == (stop in text)
    assert out == text.split(stop, 1)[0]


def test_without_stops_nothing_is_held_back():
    """With no stop string every piece comes out at once."""
    stops = StopText([])
    assert stops.push("<abc") == "<abc"
    assert stops.flush() == ""
