"""Exact proofs: run code along every branch of its random decisions, with exact fractions.

The code under test draws through two seams, ``categorical`` and ``bernoulli``
(:class:`apply_edit.reference.Draws`). :class:`TreeRng` answers them along one path and multiplies
the probabilities of its answers; :func:`distribution` walks all paths. Nothing is sampled, so there
is no tolerance, no seed and no chance of a false alarm: two distributions are equal or are not.

The helper knows nothing of rounds. Whatever draws through the seams can be driven by it: a step
over rows of different lengths (let ``run`` return one tuple per row), or a walk down a token tree.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

Path = tuple[int, ...]
Row = list[Fraction]
# A model over prefixes, exact: the distribution of the next token.
Model = Callable[[Sequence[int]], Row]


class TreeRng:
    """Answers along one path of decisions; beyond its end it takes the first possible branch.

    Attributes:
        weight: The exact probability of the decisions so far.
        branches: For each decision, the indexes that had any probability.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.weight = Fraction(1)
        self.branches: list[list[int]] = []
        self.taken: list[int] = []

    def categorical(self, probabilities: Sequence[Fraction]) -> int:
        """Take the next decision; the probabilities must be exact and sum to one exactly."""
        masses = list(probabilities)
        # A float here would make the proof approximate without anybody noticing.
        assert not any(isinstance(mass, float) for mass in masses), masses
        assert sum(masses) == 1, masses
        possible = [index for index, mass in enumerate(masses) if mass > 0]
        depth = len(self.taken)
        choice = self._path[depth] if depth < len(self._path) else possible[0]
        self.branches.append(possible)
        self.taken.append(choice)
        self.weight *= masses[choice]
        return choice

    def bernoulli(self, probability: Fraction) -> bool:
        """Take a decision between two; 1 stands for yes."""
        return self.categorical([1 - probability, probability]) == 1


def distribution(run: Callable[[TreeRng], Hashable]) -> dict[Hashable, Fraction]:
    """Return the exact distribution of what ``run`` returns, over every path of its decisions.

    ``run`` must depend on nothing but its draws. Each path is run once: the first run fixes the
    leftmost path and learns where it could have branched off; every such branch is run in turn.
    """
    result: dict[Hashable, Fraction] = defaultdict(Fraction)
    pending: list[Path] = [()]
    while pending:
        path = pending.pop()
        rng = TreeRng(path)
        value = run(rng)
        result[value] += rng.weight
        for depth in range(len(path), len(rng.taken)):
            stem = tuple(rng.taken[:depth])
            pending += [(*stem, other) for other in rng.branches[depth][1:]]
    assert sum(result.values()) == 1
    return dict(result)


def total_variation(a: dict[Hashable, Fraction], b: dict[Hashable, Fraction]) -> Fraction:
    """Return half the sum of the absolute differences: 0 for equal, 1 for disjoint."""
    keys = a.keys() | b.keys()
    return sum((abs(a.get(key, 0) - b.get(key, 0)) for key in keys), Fraction(0)) / 2


def joint(model: Model, prefix: Sequence[int], length: int) -> dict[Hashable, Fraction]:
    """Return the exact distribution of the next ``length`` tokens of plain sampling."""
    start = tuple(prefix)
    vocab = len(model(start))
    result: dict[Hashable, Fraction] = {}
    for tokens in product(range(vocab), repeat=length):
        weight = Fraction(1)
        for end, token in enumerate(tokens):
            weight *= model((*start, *tokens[:end]))[token]
        if weight:
            result[tokens] = weight
    return result


def table_model(vocab: int, seed: int, zeros: bool = False) -> Model:
    """Return a model whose row depends on the whole prefix, with small random fractions.

    Args:
        vocab: Number of tokens.
        seed: Two seeds give two unrelated models.
        zeros: Some tokens have no mass after some prefixes.
    """

    @cache
    def row_after(prefix: tuple[int, ...]) -> Row:
        dice = random.Random(f"{seed}:{prefix}")
        weights = [dice.randint(0 if zeros else 1, 9) for _ in range(vocab)]
        weights[dice.randrange(vocab)] += 1
        return [Fraction(weight, sum(weights)) for weight in weights]

    return lambda prefix: row_after(tuple(prefix))


def argmax_one_hot(model: Model) -> Model:
    """Return the point-mass model that always emits the argmax of ``model``."""

    def row(prefix: Sequence[int]) -> Row:
        masses = model(prefix)
        best = masses.index(max(masses))
        return [Fraction(int(token == best)) for token in range(len(masses))]

    return row
