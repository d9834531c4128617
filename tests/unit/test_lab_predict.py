"""Experiment 5 on fake models whose costs and distributions are known."""

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from apply_edit.lab.forecast import Costs, alphas, forecast, lookup_rounds, measure_costs
from apply_edit.lab.predict import COLUMNS, compare, report, run
from apply_edit.lab.seam import Bench, DecodeRun, Drafter, Prompt, Workload
from apply_edit.lab.temperature import probabilities
from apply_edit.reference import (
    CountingModel,
    acceptance_rate,
    expected_tokens,
    lookup_proposer,
    speculative_greedy,
    speculative_sample,
)

P_LOGITS = np.log([0.5, 0.3, 0.2]).astype(np.float32)
Q_LOGITS = np.log([0.3, 0.3, 0.4]).astype(np.float32)
LENGTH = 60


class FakeTimed:
    """The same row everywhere; a pass takes ``step`` seconds and a tenth of it per further id."""

    def __init__(self, row, step):
        self.row, self.step = row, step

    def logits(self, ids):
        """Return the row for every id."""
        return np.tile(self.row, (len(ids), 1))

    def pass_seconds(self, prefix, width, repeats):
        """Return what a pass takes."""
        return [self.step * (1 + 0.1 * (width - 1))] * repeats


TARGET, DRAFT = FakeTimed(P_LOGITS, 1.0), FakeTimed(Q_LOGITS, 0.05)


def dist(row, temperature):
    """Return a model with the same distribution everywhere."""
    return CountingModel(lambda _: probabilities(row, temperature))


def decode(gamma, rng, prompt, temperature):
    """Decode with the draft model (gamma 0: plainly) on a clock that charges for passes."""
    target, draft = dist(P_LOGITS, temperature), dist(Q_LOGITS, temperature)
    out = speculative_sample(target, draft, prompt.ids, LENGTH, gamma, rng)
    width = TARGET.pass_seconds((), gamma + 1, 1)[0]
    prefill = TARGET.pass_seconds((), len(prompt.ids), 1)[0]
    prefill += DRAFT.pass_seconds((), len(prompt.ids), 1)[0] if gamma else 0
    seconds = prefill + target.calls * width + draft.calls * 0.05
    accepted = len(out) - target.calls
    return DecodeRun(tuple(out), seconds, target.calls, draft.calls, accepted)


def bench(gamma=4, library=None):
    """Return the fake pair with one model drafter."""
    rng = random.Random(3)
    speculative = partial(decode, gamma, rng)
    drafter = Drafter("draft model", gamma, speculative, library)
    return Bench(TARGET, DRAFT, partial(decode, 0, rng), (drafter,))


CHAT = Workload("chat", tuple(Prompt((1,) * 8) for _ in range(30)))


def test_costs_are_the_times_of_the_passes():
    """C is a draft step over a target step; widths in between are interpolated."""
    costs = measure_costs(bench(gamma=4), [1, 2], 100)
    assert costs.ratio == pytest.approx(0.05)
    assert sorted(costs.target) == [1, 2, 4, 5]
    assert costs.target_pass(5) == pytest.approx(1.4)
    assert costs.target_pass(3) == pytest.approx(1.2)


@pytest.mark.parametrize(("temperature", "want"), [(1.0, 0.8), (0.0, 0.0)])
def test_alpha_is_the_overlap_at_each_position(temperature, want):
    """One value per id of the text; equal argmaxes at temperature 0."""
    got = alphas(TARGET, DRAFT, Prompt((1, 2)), [0, 1, 2], temperature)
    assert got == pytest.approx([want] * 3)


def test_each_id_is_judged_by_the_row_before_it():
    """Only a draft that is right after the right id overlaps."""

    class Successor(FakeTimed):
        def logits(self, ids):
            return np.array([[9.0 * (x == (i + 1) % 5) for x in range(5)] for i in ids])

    class Even(Successor):
        def logits(self, ids):
            rows = super().logits(ids)
            rows[[i % 2 == 1 for i in ids]] = [9.0, 0, 0, 0, 0]
            return rows

    got = alphas(Successor(None, 1), Even(None, 1), Prompt((0,)), [1, 2, 3, 4], 0)
    assert got == [1, 0, 1, 0]


def test_padded_vocabularies_are_compared_on_their_common_part():
    """A draft with more rows than the target has less mass on the rest, no error."""
    wide = FakeTimed(np.append(Q_LOGITS, np.float32(-50)), 1)
    assert alphas(TARGET, wide, Prompt((1,)), [0], 1.0) == pytest.approx([0.8])
    assert alphas(TARGET, wide, Prompt((1,)), [0], 0.0) == [0.0]


def test_prediction_and_measurement_agree_where_the_assumptions_hold():
    """With independent acceptances the predicted figures are within 5 % of the measured ones.

    900 ids per cell at alpha of about 0.8: the standard error of the tokens per pass is 3 %; the
    seed is fixed.
    """
    _, (row,) = compare(bench(), [CHAT], temperatures=(1.0,), steps=10)
    alpha = acceptance_rate([0.5, 0.3, 0.2], [0.3, 0.3, 0.4])
    assert row.predicted.alpha == pytest.approx(alpha)
    assert row.predicted.tokens_per_pass == pytest.approx(expected_tokens(alpha, 4))
    assert row.tokens_per_pass == pytest.approx(row.predicted.tokens_per_pass, rel=0.05)
    assert row.share == pytest.approx(row.predicted.share, rel=0.08)
    assert row.speedup == pytest.approx(row.predicted.speedup, rel=0.05)
    assert row.predicted.speedup < row.predicted.speedup_flat


def test_a_constant_pass_time_makes_both_predictions_equal():
    """Flat and timed passes differ only by the width."""
    costs = Costs(0.05, {1: 1.0, 5: 1.0})
    drafter = bench().drafters[0]
    guess = forecast(bench(), drafter, [(Prompt((1,)), [0] * 20)], 1.0, costs)
    assert guess.speedup == pytest.approx(guess.speedup_flat)


REFERENCE = (3, 1, 4, 15, 9, 2, 6, 5, 35, 8, 97, 93)
WRITTEN = (3, 1, 4, 15, 77, 2, 6, 5, 35, 8, 97, 93)  # one id of the reference changed


def lookup_decode(gamma, prompt, temperature):
    """Decode a scripted text with prompt lookup (gamma 0: plainly), counting as real code would."""
    drafted = []

    def row(tokens):
        return [float(x == WRITTEN[len(tokens) - len(prompt.ids)]) for x in range(100)]

    def propose(seq, k):
        block = lookup_proposer(prompt.reference, 1)(seq, k)
        drafted.append(len(block))
        return block

    target = CountingModel(row)
    out = speculative_greedy(target, propose, prompt.ids, len(WRITTEN), gamma)
    prefill = TARGET.pass_seconds((), len(prompt.ids), 1)[0]
    widths = drafted if gamma else [0] * target.calls
    widths = widths + [0] * (target.calls - len(widths))
    seconds = prefill + sum(TARGET.pass_seconds((), 1 + width, 1)[0] for width in widths)
    accepted = len(out) - target.calls
    return DecodeRun(tuple(out), seconds, target.calls, sum(drafted), accepted)


EDITS = Workload("edits", (Prompt((50, 51), REFERENCE),))


def lookup_bench(gamma=4):
    """Return a bench whose only drafter copies."""
    drafter = Drafter("lookup", gamma, partial(lookup_decode, gamma), ngram=1)
    return Bench(TARGET, DRAFT, partial(lookup_decode, 0), (drafter,))


def test_lookup_is_replayed_exactly():
    """(drafted, accepted) of each pass over the written text."""
    assert lookup_rounds(EDITS.prompts[0], WRITTEN, 4, 1) == [
        (0, 0),
        (4, 3),
        (0, 0),
        (4, 4),
        (0, 0),
    ]


def test_the_prediction_for_greedy_lookup_is_exact():
    """Tokens per pass, accepted share and speedup are those of the real decoding."""
    _, (row,) = compare(lookup_bench(), [EDITS], temperatures=(0.0,), steps=10)
    assert row.predicted.tokens_per_pass == row.tokens_per_pass == 12 / 5
    assert row.predicted.share == row.share == 7 / 8
    assert row.predicted.speedup == pytest.approx(row.speedup)
    assert row.predicted.alpha == 7 / 8
    assert row.different == 0


def test_lookup_is_left_out_where_there_is_nothing_to_copy():
    """A chat prompt has no reference."""
    _, rows = compare(lookup_bench(), [EDITS, CHAT], temperatures=(0.0,), steps=10)
    assert [row.workload for row in rows if row.drafter == "lookup"] == ["edits"]


def test_outputs_that_differ_from_plain_ones_are_counted():
    """A greedy output that drafting changed is reported, not hidden."""
    good = lookup_bench()
    broken = replace(
        good.drafters[0], decode=lambda *a: replace(lookup_decode(4, *a), ids=(1,) * 12)
    )
    costs, rows = compare(replace(good, drafters=(broken,)), [EDITS], (0.0,), 10)
    assert "1 greedy outputs" in report(costs, rows).notes[-1]


def test_the_report_has_a_row_and_a_group_of_bars_per_case():
    """Workload by temperature by drafter; a missing library counterpart is a dash."""
    library = partial(decode, 4, random.Random(9))
    with_library = run(bench(library=library), [CHAT], steps=10)
    assert with_library.columns == COLUMNS
    assert [row[:3] for row in with_library.rows] == [
        ("chat", "0", "draft model"),
        ("chat", "0.7", "draft model"),
    ]
    assert len(with_library.plot.ticks) == 2
    assert all(len(series.ys) == 2 for series in with_library.plot.series)
    assert "-" not in [row[-1] for row in with_library.rows]
    assert run(bench(), [CHAT], steps=10).rows[0][-1] == "-"
