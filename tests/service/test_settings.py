from pathlib import Path

import pytest

from apply_edit.config import DEFAULT_TARGET
from apply_edit.errors import ConfigError
from apply_edit.service.settings import load


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    """Let no variable of the real environment have a say."""
    for name in ("HOST", "PORT", "TOKEN", "TARGET", "UDS", "MAX_QUEUE"):
        monkeypatch.delenv(f"APPLY_EDIT_{name}", raising=False)


def written(tmp_path: Path, text: str) -> Path:
    """Write a settings file."""
    path = tmp_path / "serve.toml"
    path.write_text(text)
    return path


def test_the_defaults_listen_on_loopback():
    """Without any setting the service is for this machine only."""
    settings = load({})
    assert (settings.host, settings.port, settings.token_text) == ("127.0.0.1", 8417, None)
    assert settings.target == DEFAULT_TARGET
    assert settings.max_body_bytes == 32 << 20


def test_flags_win_over_variables_and_these_over_the_file(tmp_path, monkeypatch):
    """Each source has its say where the one above it is silent."""
    file = written(tmp_path, 'port = 1\nmax_queue = 1\ntarget = "file"\n')
    monkeypatch.setenv("APPLY_EDIT_PORT", "2")
    monkeypatch.setenv("APPLY_EDIT_MAX_QUEUE", "2")
    settings = load({"port": 3}, file)
    assert (settings.port, settings.max_queue, settings.target) == (3, 2, "file")


def test_sizes_and_lists_can_be_written_as_people_do(tmp_path, monkeypatch):
    """Sizes have units, and lists in a variable are separated by commas."""
    monkeypatch.setenv("APPLY_EDIT_ALLOWED_HOSTS", "box.lan, other.lan")
    settings = load({"max_body_bytes": "2MiB"}, written(tmp_path, 'allowed_origins = ["http://a"]'))
    assert settings.max_body_bytes == 2 << 20
    assert settings.allowed_hosts == ("box.lan", "other.lan")
    assert settings.allowed_origins == ("http://a",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot = 1\n", ["prot in", "is no setting", "port"]),
        ("port = 99999\n", ["port in", "65535"]),
        ("[serve]\nport = 1\n", ["serve in", "is no setting"]),
        ("port =\n", ["cannot be read"]),
        ('log_format = "xml"\n', ["log_format in", "json"]),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path, text, words):
    """An unknown key, an impossible value and broken TOML are named, with the file."""
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as refused:
        load({}, file)
    for word in (*words, str(file)):
        assert word in refused.value.message


def test_a_missing_file_is_refused(tmp_path):
    """A settings file that is not there is an error, not a silence."""
    with pytest.raises(ConfigError, match="cannot be read"):
        load({}, tmp_path / "no.toml")


def test_a_wrong_variable_and_a_wrong_flag_are_named(monkeypatch):
    """The message says which variable or flag has the impossible value."""
    monkeypatch.setenv("APPLY_EDIT_MAX_QUEUE", "-1")
    with pytest.raises(ConfigError, match="APPLY_EDIT_MAX_QUEUE"):
        load({})
    with pytest.raises(ConfigError, match="--max-queue"):
        load({"max_queue": -2})


def test_a_token_is_never_told():
    """Neither a refusal nor the settings themselves show the token."""
    with pytest.raises(ConfigError) as refused:
        load({"token": "", "port": "secret-word"})
    assert "secret-word" not in refused.value.message
    assert "secret-word" not in repr(load({"token": "secret-word"}))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "box.lan"])
def test_other_machines_need_a_token(host):
    """An address that others can reach is refused without a token, with the reason."""
    with pytest.raises(ConfigError, match="token"):
        load({"host": host})
    assert load({"host": host, "token": "t"}).host == host


def test_a_socket_and_a_port_are_not_given_together(tmp_path):
    """Asking for both is refused; a socket alone is fine and needs no token."""
    with pytest.raises(ConfigError, match="uds"):
        load({"uds": tmp_path / "s", "port": 1})
    assert load({"uds": tmp_path / "s"}).uds == tmp_path / "s"
