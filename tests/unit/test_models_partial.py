import hashlib
import json

import pytest

from apply_edit.models.partial import PartialFile, sha256_of

NAMES = ["a", "b", "c"]


def begun(tmp_path, count=2):
    """Return a partial file with ``count`` whole parts."""
    partial = PartialFile(tmp_path / "file")
    partial.resume(NAMES)
    for name in NAMES[:count]:
        partial.append(name, [name.encode() * 10, name.encode() * 5])
    return partial


def test_parts_of_an_earlier_run_are_taken_over_with_size_and_digest(tmp_path):
    """A new run sees the parts, the size and the digest that the earlier one left."""
    earlier = begun(tmp_path)

    later = PartialFile(tmp_path / "file")
    later.resume(NAMES)

    assert later.parts == earlier.parts
    assert later.size == 30
    assert later.sha256 == hashlib.sha256(b"a" * 15 + b"b" * 15).hexdigest()


def test_an_interrupted_part_is_cut_off_and_written_anew(tmp_path):
    """Bytes of a part that was never finished do not end up in the file."""
    partial = begun(tmp_path)

    def broken():
        yield b"XXXX"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        partial.append("c", broken())
    later = PartialFile(tmp_path / "file")
    later.resume(NAMES)
    assert later.data_path.stat().st_size == 30

    later.append("c", [b"c"])
    later.finish()

    assert (tmp_path / "file").read_bytes() == b"a" * 15 + b"b" * 15 + b"c"
    assert sha256_of(tmp_path / "file") == later.sha256
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_the_same_run_may_try_a_failed_part_again(tmp_path):
    """After a failed append the next one begins where the whole parts end."""
    partial = begun(tmp_path, count=1)

    def broken():
        yield b"XXXXXXXX"
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011  # the bare error that was raised above
        partial.append("b", broken())
    partial.append("b", [b"b"])

    assert partial.data_path.read_bytes() == b"a" * 15 + b"b"


def test_a_changed_byte_invalidates_its_part_and_those_after_it(tmp_path):
    """A part whose digest is not the journal's is fetched again, and so is what follows it."""
    partial = begun(tmp_path, count=3)
    data = bytearray(partial.data_path.read_bytes())
    data[20] ^= 1
    partial.data_path.write_bytes(data)

    later = PartialFile(tmp_path / "file")
    later.resume(NAMES)

    assert [part.name for part in later.parts] == ["a"]
    assert later.data_path.stat().st_size == 15


def test_a_part_of_another_name_is_not_taken_over(tmp_path):
    """Parts of another version or another order do not count."""
    begun(tmp_path)

    later = PartialFile(tmp_path / "file")
    later.resume(["a", "other", "c"])

    assert [part.name for part in later.parts] == ["a"]


@pytest.mark.parametrize("journal", ["", "{", "[1]", '[{"name": "a"}]', '{"a": 1}'])
def test_a_damaged_journal_vouches_for_nothing(tmp_path, journal):
    """With an unreadable journal everything is fetched again."""
    partial = begun(tmp_path)
    partial.journal_path.write_text(journal, encoding="utf-8")

    later = PartialFile(tmp_path / "file")
    later.resume(NAMES)

    assert later.parts == []
    assert later.data_path.stat().st_size == 0
    assert json.loads(later.journal_path.read_text(encoding="utf-8")) == []
