"""Text to token ids and back: file content as data, control text as control.

Two encoders from one ``tokenizer.json``. The *control* encoder knows the special tokens and is used
for what we wrote ourselves (chat template, section tags). The *data* encoder has no added tokens at
all, so that a file which contains ``<|im_end|>`` is encoded as the characters that it has, and no
file can end a turn or open one.

Uses the tokenizers library directly: it loads in a fraction of the time of a whole tokenizer class
and runs no code that a model folder brings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from apply_edit.errors import ModelLoadError

# A little of everything that tokenizers split in different ways.
_HOSTILE = (
    "def f(x):\n\tif x >= 10_000:\r\n        return 'it''s  3.14e-7'  # \u00e9e\u0301 "
    "\u4e2d\u6587 \U0001f469\u200d\U0001f4bb\u00a0\ufe30 CamelCase snake_case 0xDEADbeef !=="
)


class TextTokenizer:
    """Encoder and decoder of one model.

    Args:
        control: Tokenizer as the model ships it.
        data: The same without added tokens.
        chat_template: Jinja text of the chat template, or None.
        eos_ids: Ids that end a turn.
    """

    def __init__(
        self,
        control: Tokenizer,
        data: Tokenizer,
        chat_template: str | None,
        eos_ids: frozenset[int],
    ) -> None:
        self._control = control
        self._data = data
        self.chat_template = chat_template
        self.eos_ids = eos_ids
        self.vocab_size = max(control.get_vocab(with_added_tokens=True).values()) + 1
        self._pieces: list[bytes | None] = [None] * self.vocab_size
        self._byte_level = _is_byte_level(control)

    @classmethod
    def load(cls, folder: Path) -> TextTokenizer:
        """Read ``tokenizer.json`` and its companions from a model folder.

        Raises:
            ModelLoadError: A file is missing or broken.
        """
        file = folder / "tokenizer.json"
        try:
            spec = json.loads(file.read_text(encoding="utf-8"))
            control = Tokenizer.from_str(json.dumps(spec))
            plain = {**spec, "added_tokens": [], "post_processor": None}
            data = Tokenizer.from_str(json.dumps(plain))
        except Exception as error:  # noqa: BLE001 the tokenizers library raises bare Exception
            message = f"{file} cannot be read as a tokenizer: {error}"
            raise ModelLoadError(message) from None
        for tokenizer in (control, data):
            tokenizer.no_truncation()
            tokenizer.no_padding()
        settings = _read_json(folder / "tokenizer_config.json")
        template = _chat_template(folder, settings)
        return cls(control, data, template, _eos_ids(folder, settings, control))

    def encode_data(self, text: str) -> list[int]:
        """Encode file content; no special token is ever recognised in it."""
        return list(self._data.encode(text, add_special_tokens=False).ids) if text else []

    def encode_control(self, text: str) -> list[int]:
        """Encode prompt text of our own, special tokens included."""
        return list(self._control.encode(text, add_special_tokens=False).ids) if text else []

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes of one token; special tokens give the characters of their name.

        Only for byte-level vocabularies, see ``is_byte_level``.
        """
        if not 0 <= token < self.vocab_size:
            return b""
        piece = self._pieces[token]
        if piece is None:
            piece = self._compute_bytes(token)
            self._pieces[token] = piece
        return piece

    @property
    def is_byte_level(self) -> bool:
        """Whether each token is a fixed run of bytes, so that decoding is concatenation."""
        return self._byte_level

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids without any clean-up; broken UTF-8 gives U+FFFD."""
        if self._byte_level:
            return b"".join(self.token_bytes(i) for i in ids).decode("utf-8", errors="replace")
        text: str = self._control.decode(list(ids), skip_special_tokens=False)
        return text

    def difference(self, other: TextTokenizer) -> str | None:
        """Return how another tokenizer differs from this one, None if it does not."""
        mine, theirs = self._control.get_vocab(), other._control.get_vocab()
        if mine != theirs:
            odd = sorted(set(mine.items()) ^ set(theirs.items()), key=lambda item: item[1])
            return f"{len(odd)} entries differ, for example {odd[0][0]!r}"
        # Equal ids may still be put together in another way.
        if self.encode_data(_HOSTILE) != other.encode_data(_HOSTILE):
            return "the same text is split differently"
        return None

    def _compute_bytes(self, token: int) -> bytes:
        name = self._control.id_to_token(token)
        if name is None:
            return b""
        if self._data.token_to_id(name) != token:
            return str(name).encode("utf-8")
        return bytes(_BYTE_OF[char] for char in name if char in _BYTE_OF)


def require_same_tokenizer(target: TextTokenizer, draft: TextTokenizer) -> None:
    """Refuse a draft model whose ids mean something else than the target's.

    The vocabularies have to be equal, and so has what becomes of a text; how many rows a model has
    behind its vocabulary does not matter.

    Raises:
        ModelLoadError: The tokenizers differ.
    """
    reason = target.difference(draft)
    if reason is not None:
        message = (
            f"the draft model has another tokenizer than the target ({reason}); use a draft model "
            "of the target's family"
        )
        raise ModelLoadError(message)


def _read_json(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        message = f"{file} is not valid JSON: {error}"
        raise ModelLoadError(message) from None
    return value if isinstance(value, dict) else {}


def _chat_template(folder: Path, settings: dict[str, Any]) -> str | None:
    file = folder / "chat_template.jinja"
    if file.exists():
        return file.read_text(encoding="utf-8")
    template = settings.get("chat_template")
    return template if isinstance(template, str) else None


def _eos_ids(folder: Path, settings: dict[str, Any], control: Tokenizer) -> frozenset[int]:
    found: set[int] = set()
    for file in ("generation_config.json", "config.json"):
        value = _read_json(folder / file).get("eos_token_id")
        found.update(
            value if isinstance(value, list) else [value] if isinstance(value, int) else []
        )
    name = settings.get("eos_token")
    if isinstance(name, dict):
        name = name.get("content")
    if isinstance(name, str) and (token := control.token_to_id(name)) is not None:
        found.add(token)
    # Chat models end a turn with a token of their own, which some configurations do not list.
    for name in ("<|im_end|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "<|endoftext|>"):
        if (token := control.token_to_id(name)) is not None:
            found.add(token)
    return frozenset(found)


def _is_byte_level(tokenizer: Tokenizer) -> bool:
    spec = json.loads(tokenizer.to_str())
    decoder = spec.get("decoder") or {}
    return decoder.get("type") == "ByteLevel"


def _byte_alphabet() -> dict[str, int]:
    """Return the byte behind each character of a byte-level vocabulary.

    Printable Latin-1 bytes stand for themselves, the others for characters from U+0100 on.
    """
    printable: Iterable[int] = (*range(33, 127), *range(161, 173), *range(174, 256))
    table = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if chr(byte) not in table)
    for index, byte in enumerate(others):
        table[chr(256 + index)] = byte
    return table


_BYTE_OF = _byte_alphabet()
