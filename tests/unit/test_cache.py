import pytest
import torch

from apply_edit.decode.cache import KVCache
from apply_edit.errors import DeviceError


@torch.inference_mode()  # as in a pass
def write(cache, row, values):
    """Append tokens whose key and value are their number."""
    tensor = torch.tensor(values, dtype=torch.float32).view(1, -1, 1)
    slots = torch.arange(cache.length(row), cache.length(row) + len(values))
    for layer in range(2):
        keys, _ = cache.write(row, layer, (tensor, -tensor), slots)
    cache.commit(row, len(values))
    return keys[0, : cache.length(row), 0].tolist()


@pytest.mark.parametrize("capacity", [None, 4096])
def test_rows_have_lengths_of_their_own(capacity):
    """Rolling one row back leaves the others alone, and new tokens overwrite the rejected ones."""
    cache = KVCache(2, capacity)
    first, second = cache.open_row(), cache.open_row()
    write(cache, first, [1, 2, 3])
    write(cache, second, [7, 8])
    cache.rollback(first, 1)
    assert write(cache, first, [9]) == [1, 9]
    assert write(cache, second, [10]) == [7, 8, 10]


@pytest.mark.parametrize("length", [-1, 4])
def test_a_rollback_out_of_range_is_an_error(length):
    """A row cannot be rolled back to less than nothing or to more than it has."""
    cache = KVCache(2)
    row = cache.open_row()
    write(cache, row, [1, 2, 3])
    with pytest.raises(ValueError, match="roll a row of 3"):
        cache.rollback(row, length)


def test_rolling_back_to_nothing_and_to_all_is_fine():
    """Both ends of the range are valid."""
    cache = KVCache(2)
    row = cache.open_row()
    write(cache, row, [1, 2])
    cache.rollback(row, 2)
    cache.rollback(row, 0)
    assert write(cache, row, [5]) == [5]


def test_a_dynamic_row_grows_and_keeps_what_it_holds():
    """Buffers that are outgrown are copied with everything in them."""
    cache = KVCache(2)
    row = cache.open_row()
    first = list(range(1000))
    write(cache, row, first)
    assert write(cache, row, list(range(1000, 3000))) == list(range(3000))


def test_a_static_row_keeps_its_address_and_refuses_to_overflow():
    """Static storage never moves, so that a captured pass stays valid."""
    cache = KVCache(2, 4)
    row = cache.open_row()
    pair = torch.ones(1, 2, 1), torch.ones(1, 2, 1)
    slots = torch.arange(2)
    places = {cache.write(row, 0, pair, slots)[0].data_ptr() for _ in range(3)}
    cache.commit(row, 3)
    assert len(places) == 1
    with pytest.raises(DeviceError, match="static cache of 4"):
        cache.write(row, 0, pair, slots + 3)
    cache.close_row(row)
    assert cache.write(cache.open_row(), 0, pair, slots)[0].data_ptr() in places


def test_keeping_a_branch_moves_its_tokens_together():
    """Of a token tree only the accepted branch stays, in order and without gaps."""
    cache = KVCache(2)
    row = cache.open_row()
    write(cache, row, [1, 2])
    write(cache, row, [10, 11, 12, 13])
    cache.keep_branch(row, 2, [0, 2, 3])
    assert write(cache, row, [20]) == [1, 2, 10, 12, 13, 20]


@pytest.mark.parametrize("offsets", [[1, 0], [0, 0], [4]])
def test_a_branch_must_ascend_within_the_tree(offsets):
    """Offsets out of order or out of range are refused."""
    cache = KVCache(2)
    row = cache.open_row()
    write(cache, row, [1, 2])
    write(cache, row, [10, 11, 12, 13])
    with pytest.raises(ValueError, match="do not ascend"):
        cache.keep_branch(row, 2, offsets)


@pytest.mark.parametrize("capacity", [None, 4096])
def test_a_row_that_begins_with_a_prefix_shares_no_memory_with_it(capacity):
    """Rows that begin with one prefix, and the row that it comes from, write past each other."""
    cache = KVCache(2, capacity)
    source = cache.open_row()
    write(cache, source, [1, 2, 3])
    prefix = cache.snapshot(source, 2)
    cache.rollback(source, 0)
    write(cache, source, [70, 71, 72])
    rows = [cache.open_row(prefix) for _ in range(2)]
    assert [cache.length(row) for row in rows] == [2, 2]
    assert write(cache, rows[0], [8]) == [1, 2, 8]
    cache.rollback(rows[0], 0)
    write(cache, rows[0], [90, 91])
    assert write(cache, rows[1], [9]) == [1, 2, 9]
    assert write(cache, source, [73]) == [70, 71, 72, 73]


def test_static_buffers_are_taken_over_by_rows_with_a_prefix():
    """The address of static storage stays the same whatever a row begins with."""
    cache = KVCache(2, 16)
    first = cache.open_row()
    write(cache, first, [1, 2, 3])
    prefix = cache.snapshot(first, 3)
    held = cache.num_bytes()
    cache.close_row(first)
    assert write(cache, cache.open_row(prefix), [4]) == [1, 2, 3, 4]
    assert cache.num_bytes() == held


def test_a_part_of_a_prefix_is_a_prefix():
    """The first tokens of a prefix can be used without copying them before."""
    cache = KVCache(2)
    row = cache.open_row()
    write(cache, row, [1, 2, 3])
    prefix = cache.snapshot(row, 3)
    assert (prefix.length, prefix.num_bytes) == (3, 3 * 2 * 2 * 4)
    part = prefix.first(1)
    assert (part.length, part.keys[0].data_ptr()) == (1, prefix.keys[0].data_ptr())
    assert write(cache, cache.open_row(part), [9]) == [1, 9]


@pytest.mark.parametrize("length", [0, 4])
def test_a_snapshot_must_be_of_tokens_that_are_there(length):
    """Nothing, and more than a row has, cannot be copied."""
    cache = KVCache(2)
    row = cache.open_row()
    write(cache, row, [1, 2, 3])
    with pytest.raises(ValueError, match=f"cannot copy {length} tokens"):
        cache.snapshot(row, length)
