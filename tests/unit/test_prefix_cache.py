import pytest
import torch

from apply_edit.decode.batch import Batch
from apply_edit.decode.cache import Prefix
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.prefix_cache import PrefixCache
from apply_edit.decode.row import Request
from apply_edit.decode.target import Block
from apply_edit.errors import DeviceError
from proposers import Lookup, Nothing
from tests.fakes import ByteTokenizer, hash_target
from tests.tiny import VOCAB, qwen2_config, sliding_config, tiny_target

BYTES = ByteTokenizer()


def prefix_of(ids):
    """Return a prefix of 8 bytes per token, whose keys are the ids."""
    return Prefix((torch.tensor(ids).view(1, -1, 1),), ())


def put(cache, ids):
    """Keep ids; return whether they were copied."""
    copied = []
    cache.put(tuple(ids), lambda: copied.append(1) or prefix_of(list(ids)))
    return bool(copied)


def found(cache, ids):
    """Return the ids of the prefix that a prompt begins with."""
    prefix = cache.find(tuple(ids))
    return None if prefix is None else prefix.keys[0].flatten().tolist()


def test_the_longest_common_beginning_is_found():
    """An entry can be used in part, and the one that shares most is used."""
    cache = PrefixCache(1000, shortest=2)
    put(cache, [1, 2, 3, 4])
    put(cache, [1, 2, 9, 9, 9])
    assert found(cache, [1, 2, 3, 7, 7]) == [1, 2, 3]
    assert found(cache, [1, 2, 9, 9, 9, 5]) == [1, 2, 9, 9, 9]
    assert (cache.hits, cache.misses, cache.reused_tokens) == (2, 0, 8)


def test_one_token_of_a_prompt_is_always_left_to_be_scored():
    """A prompt that is kept as a whole is used but for its last token."""
    cache = PrefixCache(1000, shortest=2)
    put(cache, [1, 2, 3])
    assert found(cache, [1, 2, 3]) == [1, 2]


def test_what_is_shorter_than_worth_is_neither_kept_nor_used():
    """Below the shortest length a prompt is a miss."""
    cache = PrefixCache(1000, shortest=3)
    assert not put(cache, [1, 2])
    put(cache, [1, 2, 3])
    assert found(cache, [1, 2, 4, 4]) is None
    assert found(cache, [1, 2, 3, 4]) == [1, 2, 3]
    assert (cache.hits, cache.misses) == (1, 1)


def test_the_prefix_that_was_not_used_longest_goes_first():
    """The limit is in bytes, and finding or keeping a prefix again counts as use."""
    cache = PrefixCache(3 * 4 * 8, shortest=1)
    for first in (10, 20, 30):
        put(cache, [first, 2, 3, 4])
    found(cache, [10, 2, 3, 4, 5])
    put(cache, [20, 2, 3, 4])
    assert cache.num_bytes == 96
    put(cache, [40, 2])
    assert [found(cache, [first, 2, 0]) is None for first in (10, 20, 30, 40)] == [
        False,
        False,
        True,
        False,
    ]
    assert cache.num_bytes == 80


def test_what_is_kept_already_is_not_copied_again():
    """A prefix of a kept one needs no copy, and one that is longer replaces the shorter."""
    cache = PrefixCache(1000, shortest=1)
    assert put(cache, [1, 2, 3])
    assert not put(cache, [1, 2, 3])
    assert not put(cache, [1, 2])
    assert put(cache, [1, 2, 3, 4])
    assert (len(cache), cache.num_bytes) == (1, 32)


def test_a_prefix_beyond_the_limit_drives_out_no_other():
    """What could never fit is not kept, and the rest stays."""
    cache = PrefixCache(32, shortest=1)
    put(cache, [1, 2])
    put(cache, range(5))
    assert (len(cache), cache.num_bytes) == (1, 16)


def test_a_limit_of_nothing_keeps_nothing():
    """A cache that is switched off copies nothing and counts nothing."""
    cache = PrefixCache(0)
    assert not put(cache, range(100))
    assert found(cache, range(100)) is None
    assert (cache.keeps, cache.hits, cache.misses) == (False, 0, 0)
    with pytest.raises(ValueError, match="0 or more"):
        PrefixCache(-1)


def test_short_memory_costs_the_cache_and_not_the_request():
    """When the device has no memory for a copy, what is kept is given up and nothing fails."""
    cache = PrefixCache(1000, shortest=1)
    put(cache, [1, 2])

    def no_memory():
        message = "out of memory"
        raise DeviceError(message)

    cache.put((3, 4), no_memory)
    assert (len(cache), cache.num_bytes) == (0, 0)


def numbers(length, seed):
    """Return ids that no other seed has."""
    return tuple((31 * i * i + 7 * i + seed) % VOCAB for i in range(length))


@pytest.mark.parametrize("config", [qwen2_config(), sliding_config(5)], ids=["full", "sliding"])
@pytest.mark.parametrize("capacity", [None, 256])
def test_logits_behind_a_prefix_are_those_of_a_fresh_pass(config, capacity):
    """Whatever was in the row before, a copied prefix scores as if it had been read."""
    target = tiny_target(config, capacity)
    kept, rest = numbers(40, 1), numbers(9, 2)
    source = target.open_row()
    target.score([Block(source, kept[:17], 0)])
    target.score([Block(source, kept[17:], 0)])
    prefix = target.snapshot(source, 30)
    target.rollback(source, 10)
    target.score([Block(source, rest, 0)])
    target.close_row(source)
    row, fresh = target.open_row(prefix), target.open_row()
    ours, right = target.score([Block(row, rest, 9), Block(fresh, (*kept[:30], *rest), 9)])
    assert torch.allclose(ours.logits(0, 9), right.logits(0, 9), atol=1e-4)


@pytest.mark.parametrize("capacity", [None, 256])
def test_greedy_outputs_behind_reused_prefixes_are_those_without(capacity):
    """Requests that share a file write the same with the cache and without, and it is reused."""
    target = tiny_target(qwen2_config(), capacity)
    file = numbers(100, 3)
    requests = [
        Request((*file, *numbers(n, n)), 20, keep_prefix=100, prefill_chunk=32) for n in (3, 4, 5)
    ]

    def outputs(prefixes):
        rows = []
        batch = Batch(target, BYTES, prefixes=prefixes)
        for request in requests:
            rows.append(batch.join(request, Lookup(file), FixedGamma(3)))
            while len(batch):
                assert batch.step().failures == {}
        return [tuple(row.output) for row in rows], [row.report for row in rows]

    cache = PrefixCache()
    ours, reports = outputs(cache)
    assert ours == outputs(None)[0]
    assert [report.cached_prompt_tokens for report in reports] == [0, 100, 100]
    assert [report.to_dict()["cached_prompt_tokens"] for report in reports] == [0, 100, 100]
    assert [report.prefill_passes for report in reports] == [3, 0, 0]
    assert (cache.hits, cache.misses, cache.reused_tokens) == (2, 1, 200)
    assert cache.num_bytes == 100 * 2 * 2 * 16 * 4  # layers, keys and values, 2 heads of 8, float32


def test_a_prompt_that_is_broken_off_leaves_what_was_read():
    """A request cancelled while its prompt is read spares the next one that part."""
    target = hash_target()
    cache = PrefixCache()
    batch = Batch(target, BYTES, prefixes=cache)
    request = Request(tuple(range(50)) * 8, 4, keep_prefix=300, prefill_chunk=100)
    row = batch.join(request, Nothing(), FixedGamma(0))
    batch.step()
    batch.step()
    batch.cancel(row)
    again = batch.join(request, Nothing(), FixedGamma(0))
    assert again.report.cached_prompt_tokens == 200
    while len(batch):
        batch.step()
    third = batch.join(request, Nothing(), FixedGamma(0))
    assert third.report.cached_prompt_tokens == 300


def test_only_what_the_request_asks_for_is_kept():
    """Nothing is kept by default, and never more than the prompt."""
    target = hash_target()
    cache = PrefixCache()
    batch = Batch(target, BYTES, prefixes=cache)
    prompt = tuple(range(50)) * 2
    for keep, held in ((0, 0), (70, 70), (1000, 100)):
        batch.join(Request(prompt, 4, keep_prefix=keep), Nothing(), FixedGamma(0))
        while len(batch):
            batch.step()
        assert cache.num_bytes == 8 * held
