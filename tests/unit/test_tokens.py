import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from apply_edit.decode.detokenize import Detokenizer
from apply_edit.decode.tokens import TextTokenizer, require_same_tokenizer
from apply_edit.errors import ModelLoadError

MERGES = [("d", "e"), ("de", "f"), ("\u0120", "x"), ("i", "f"), ("\u00c3", "\u00a9")]
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]

HOSTILE = [
    *("a\r\nb", "a\rb", "\t\x0c", "a\u2028b", "e\u0301", "\ufe30", "\u00a0x", "a , b ;", "  lead"),
    *("trail  ", "\x00", "\ufeffbom", "</code>", "<update>", "\U0001f469\u200d\U0001f4bb"),
    *("\ud55c\uae00", "\u4e2d\u6587", "", "\n\n\n", *SPECIAL, f"x{SPECIAL[1]}y{SPECIAL[0]}"),
]


def byte_level(merges=MERGES, special=SPECIAL, **added):
    """Return a small byte-level tokenizer as models have them."""
    vocab = {token: i for i, token in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    for pair in merges:
        vocab["".join(pair)] = len(vocab)
    tokenizer = Tokenizer(models.BPE(vocab, list(merges)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, special=True, **added) for name in special])
    return tokenizer


def load(folder, tokenizer, **files):
    """Write a tokenizer folder and load it."""
    (folder / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    return TextTokenizer.load(folder)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Return a loaded tokenizer."""
    return load(tmp_path_factory.mktemp("tokenizer"), byte_level())


@pytest.mark.parametrize("sample", HOSTILE)
def test_file_content_survives_a_round_trip(text, sample):
    """Decoding what was encoded as data gives the same text, whatever is in it."""
    assert text.decode(text.encode_data(sample)) == sample


@pytest.mark.parametrize("name", SPECIAL)
def test_a_file_cannot_write_control_tokens(text, name):
    """The name of a special token in a file is encoded as its characters, in a prompt as itself."""
    control = text.encode_control(name)
    assert len(control) == 1
    assert control[0] not in text.encode_data(name)
    assert text.decode(text.encode_data(name)) == text.decode(control) == name


def test_added_tokens_do_not_eat_their_neighbours_newlines(tmp_path):
    """A special token that strips what is beside it does so in no file."""
    greedy = load(tmp_path, byte_level(lstrip=True, rstrip=True))
    sample = f"a\n  {SPECIAL[1]}  \nb"
    assert greedy.decode(greedy.encode_data(sample)) == sample


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30), st.lists(st.integers(1, 5), min_size=1, max_size=9))
def test_joined_pieces_are_the_text_however_the_ids_are_split(sample, sizes):
    """For every split into blocks no U+FFFD appears that the text does not have."""
    tokenizer = TextTokenizer(byte_level(), byte_level(special=[]), None, frozenset())
    ids = tokenizer.encode_data(sample)
    stream, pieces, place, turn = Detokenizer(tokenizer), [], 0, 0
    while place < len(ids):
        size = sizes[turn % len(sizes)]
        pieces.append(stream.push(ids[place : place + size]))
        place, turn = place + size, turn + 1
    pieces.append(stream.flush())
    assert "".join(pieces) == sample
    if "\ufffd" not in sample:
        assert not any("\ufffd" in piece for piece in pieces)


def test_ids_beyond_the_vocabulary_have_no_bytes(text):
    """Padded rows of a model head decode to nothing rather than fail."""
    assert text.token_bytes(text.vocab_size) == text.token_bytes(-1) == b""


def test_every_ending_token_is_found(tmp_path):
    """Ids come from the configurations, the tokenizer's own and the usual names."""
    tokenizer = load(
        tmp_path,
        byte_level(),
        generation_config={"eos_token_id": [3, 4]},
        config={"eos_token_id": 5},
        tokenizer_config={"eos_token": {"content": "<|im_start|>"}},
    )
    control = {tokenizer.encode_control(name)[0] for name in SPECIAL}
    assert tokenizer.eos_ids == {3, 4, 5} | control


@pytest.mark.parametrize("content", [None, "{", "[]", "{}"])
def test_a_broken_tokenizer_is_refused(tmp_path, content):
    """A missing or damaged tokenizer.json is named."""
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelLoadError, match=r"tokenizer\.json"):
        TextTokenizer.load(tmp_path)


def test_a_draft_model_of_the_same_family_is_accepted(tmp_path, text):
    """Two folders with the same tokenizer go together, whatever their models' heads are like."""
    require_same_tokenizer(text, load(tmp_path, byte_level()))


@pytest.mark.parametrize(
    "other",
    [
        byte_level(special=SPECIAL[:2]),
        byte_level(special=SPECIAL[::-1]),
        byte_level(merges=MERGES[:-1]),
    ],
    ids=["fewer tokens", "other order", "fewer merges"],
)
def test_a_draft_model_with_other_ids_is_refused(tmp_path, text, other):
    """The message says how many entries differ and what to do."""
    with pytest.raises(ModelLoadError, match=r"another tokenizer .* entries differ"):
        require_same_tokenizer(text, load(tmp_path, other))


def test_a_draft_model_that_splits_otherwise_is_refused(tmp_path, text):
    """The same vocabulary put together in another way is another tokenizer."""
    other = byte_level()
    other.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(use_regex=False)]
    )
    with pytest.raises(ModelLoadError, match="split differently"):
        require_same_tokenizer(text, load(tmp_path, other))
