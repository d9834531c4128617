import math

import pytest

from apply_edit import Applier, Config
from apply_edit.confidence import hunk_scores, least_sure
from apply_edit.decode.confidence import LineScore, line_scores
from apply_edit.errors import LowConfidence
from tests.fakes import writing_engine

ORIGINAL = "a = 1\nb = 2\nc = 3\n"
CHANGED = "a = 1\nb = 5\nc = 3\n"


def test_each_token_counts_for_the_line_it_begins_in():
    """A token over a line end belongs to the first of its lines, and no line is left out."""
    scores = line_scores([b"a", b"\n  ", b"b", b"\n\n\n", b"c"], [-1.0, -2.0, -3.0, -4.0, -5.0])
    assert [s.tokens for s in scores] == [2, 2, 0, 0, 1]
    assert [s.weakest for s in scores] == [-2.0, -4.0, 0.0, 0.0, -5.0]
    assert [s.total for s in scores] == [-3.0, -7.0, 0.0, 0.0, -5.0]


def test_a_change_is_as_sure_as_its_least_sure_word():
    """The score of a change is its smallest probability, the line behind it included."""
    lines = [LineScore(0.0, 0.0, 4), LineScore(-2.0, -1.5, 4), LineScore(-0.5, -0.5, 4)]
    (hunk,) = hunk_scores(ORIGINAL, CHANGED, lines, first_line=10)
    assert (hunk.start_line, hunk.end_line) == (12, 12)
    assert hunk.confidence == pytest.approx(math.exp(-1.5))
    assert hunk.mean_logprob == pytest.approx(-2.5 / 8)


def test_a_deletion_is_judged_by_what_follows_it():
    """Where lines were only taken away, the first line behind them says how sure that was."""
    lines = [LineScore(0.0, 0.0, 4), LineScore(-0.7, -0.7, 4)]
    (hunk,) = hunk_scores(ORIGINAL, "a = 1\nc = 3\n", lines)
    assert (hunk.start_line, hunk.end_line) == (2, 1)
    assert hunk.confidence == pytest.approx(math.exp(-0.7))


def test_without_scores_there_is_no_confidence():
    """A tokenizer that does not tell bytes gives no scores, and nothing is made up."""
    assert hunk_scores(ORIGINAL, CHANGED, []) == []
    assert least_sure([]) == 1.0


def test_confidence_and_hunks_are_in_the_result():
    """A result of the target says how sure it was, and of which lines."""
    engine = writing_engine(CHANGED, doubt="5")
    config = Config(min_confidence=0.0)
    result = Applier(config, engine=engine).apply(ORIGINAL, None, instruction="b is 5")
    assert result.confidence == pytest.approx(0.5, abs=0.01)
    assert [(h.start_line, h.end_line) for h in result.hunks] == [(2, 2)]
    assert result.hunks[0].confidence == result.confidence


def test_a_text_that_the_target_doubts_is_refused():
    """Below the threshold the result is an error that names the lines and the probability."""
    engine = writing_engine(CHANGED, doubt="5")
    with pytest.raises(LowConfidence, match=r"line 2.*0\.50") as caught:
        Applier(Config(min_confidence=0.8), engine=engine).apply(
            ORIGINAL, None, instruction="b is 5"
        )
    assert caught.value.fields["lines"] == [2]


def test_what_the_merge_confirms_is_not_refused_for_doubt():
    """A text that equals the deterministic merge is good however the target hesitated."""
    engine = writing_engine(CHANGED, doubt="5")
    snippet = "a = 1\nb = 5\n# ... existing code ...\n"
    result = Applier(Config(min_confidence=0.8), engine=engine).apply(ORIGINAL, snippet)
    assert (result.text, result.strategy, result.agreement) == (CHANGED, "model", True)
