from pathlib import Path

import pytest

import apply_edit
from apply_edit import Applier, Config
from apply_edit.errors import ConfigError
from apply_edit.types import EditFormat

EDIT = '{"old_str": "1", "new_str": "2"}'
NO_MODEL = Config(strategy="direct")


@pytest.mark.parametrize("apply", [apply_edit.apply, Applier(NO_MODEL).apply])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("original", b"a = 1\n"),
        ("original", 5),
        ("original", ["a = 1\n"]),
        ("edit", EDIT.encode()),
        ("edit", bytearray(EDIT.encode())),
        ("edit", {"old_str": "1", "new_str": "2"}),
        ("edit", 5),
        ("instruction", 5),
        ("path", b"a.py"),
        ("path", 5),
    ],
)
def test_an_argument_that_is_no_text_is_named(apply, name, value):
    """A wrong kind is a typed error with the argument's name, whatever the argument."""
    given = {"original": "a = 1\n", "edit": EDIT, name: value}
    with pytest.raises(ConfigError) as refused:
        apply(given.pop("original"), given.pop("edit"), **given)
    assert refused.value.fields["option"] == name
    assert type(value).__name__ in refused.value.message


def test_bytes_are_told_what_reads_them():
    """Who has bytes learns the name of the function that decodes them without loss."""
    with pytest.raises(ConfigError, match=r"SourceText\.from_bytes"):
        apply_edit.apply(b"a = 1\n", EDIT)


@pytest.mark.parametrize("config", [{"strategy": "direct"}, "direct", 5])
def test_settings_have_to_be_a_config(config):
    """A dictionary or a word in place of a Config is refused when the applier is made."""
    for make in (Applier, lambda config: apply_edit.apply("a = 1\n", EDIT, config=config)):
        with pytest.raises(ConfigError) as refused:
            make(config)
        assert refused.value.fields["option"] == "config"


def test_an_unknown_keyword_is_a_mistake_of_the_program():
    """A name that the function does not have is Python's own error."""
    with pytest.raises(TypeError, match="strategy"):
        apply_edit.apply("a = 1\n", EDIT, strategy="direct")


def test_a_path_may_be_a_path():
    """A ``pathlib.Path`` does as well as its text."""
    result = apply_edit.apply("a = 1\n", EDIT, path=Path("a.py"), config=NO_MODEL)
    assert result.text == "a = 2\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("strategy", "magic"),
        ("strategy", []),
        ("format", "magic"),
        ("scope", None),
        ("gamma", "x"),
        ("gamma", True),
        ("gamma", 1.5),
        ("gamma", 5000),
        ("max_new_tokens", "5"),
        ("max_new_tokens", 0),
        ("min_confidence", "x"),
        ("min_confidence", float("nan")),
        ("device", "foo"),
        ("device", "cuda:x"),
        ("device", None),
        ("dtype", "int8"),
        ("target", None),
        ("draft", 5),
        ("dialect", 5),
        ("proposer", "magic"),
        ("confirm", "yes"),
        ("disabled_checks", "no_op"),
        ("disabled_checks", None),
    ],
)
def test_an_impossible_setting_is_refused_at_once(name, value):
    """Every field of a Config is checked when it is made, whether an edit would need it or not."""
    with pytest.raises(ConfigError) as refused:
        Config(**{name: value})
    assert refused.value.fields["option"] == name
    assert name in refused.value.message


def test_settings_may_be_written_in_plain_words():
    """The name of a format, a list of checks and a path to a model are understood."""
    config = Config(format="udiff", disabled_checks=["no_op"], target=Path("model"))
    assert config.format is EditFormat.UDIFF
    assert config.disabled_checks == frozenset({"no_op"})
    assert config.target == "model"
    for device in ("auto", "cpu", "cuda", "cuda:1"):
        assert Config(device=device).device == device
