"""Turn a GGUF file into a folder of float32 safetensors, configuration and tokenizer.

Runs as a process of its own (``python -m apply_edit.models.convert SOURCE FOLDER``): the memory is
given back at the end, the settings and the noise of the libraries stay out of the caller's process,
and a file that makes a library crash crashes nothing else.

float32, because then the weights can be used in place, memory-mapped. The file is data: nothing in
it is run.
"""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apply_edit.errors import ApplyEditError, ModelLoadError
from apply_edit.models.space import disk_full, free_bytes, full_disk_guard, require_space

if TYPE_CHECKING:
    import numpy as np
    from gguf import GGUFReader
    from transformers import PretrainedConfig, PreTrainedModel

KNOWN_ERROR = 3
"""Exit status where the last line of standard error is the error as one JSON object."""

SHARD_BYTES = 1_000_000_000
_TOKENIZER_BYTES = 30_000_000

# Architectures whose GGUF tensors are the checkpoint's own under other names: these are streamed,
# one shard in memory at a time. Others (llama permutes rows, for example) go through transformers,
# which knows how to undo that and holds the whole model in memory.
_STREAMED = ("qwen2", "qwen3")


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor of the model: its name there, its name in the GGUF file, and its shape."""

    name: str
    gguf_name: str
    shape: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        size = 4
        for length in self.shape:
            size *= length
        return size


def convert(source: Path, folder: Path) -> None:
    """Convert ``source`` into the existing, empty ``folder``.

    Raises:
        ModelLoadError: The file is damaged, or of an architecture that cannot be converted.
        DiskFull: There is not enough space.
    """
    from gguf import GGUFReader

    _require_magic(source)
    reader = GGUFReader(source)
    architecture = _architecture(reader)
    needed = _TOKENIZER_BYTES + sum(4 * int(tensor.n_elements) for tensor in reader.tensors)
    require_space(folder, needed, f"convert {source.name}")
    with _full_disk_guard(folder, needed, f"convert {source.name}"):
        _save_tokenizer(source, folder)
        if architecture in _STREAMED:
            _stream(source, reader, folder, architecture)
        else:
            _load_and_save(source, folder)
    for path in folder.iterdir():
        path.chmod(0o644)  # safetensors leaves files that only their owner can read


@contextmanager
def _full_disk_guard(folder: Path, needed: int, purpose: str) -> Iterator[None]:
    """Recognise a full disk, also as safetensors reports it: an error of its own, with a text."""
    from safetensors import SafetensorError

    try:
        with full_disk_guard(folder, needed, purpose):
            yield
    except SafetensorError as error:
        if f"os error {errno.ENOSPC}" not in str(error):
            raise
        raise disk_full(folder, needed, free_bytes(folder), purpose) from error


def _require_magic(source: Path) -> None:
    with source.open("rb") as data:
        if data.read(4) != b"GGUF":
            message = "it is not a GGUF file: it does not begin with the letters GGUF"
            raise ModelLoadError(message, path=str(source))


def _architecture(reader: GGUFReader) -> str:
    field = reader.get_field("general.architecture")
    if field is None:
        message = "the GGUF file does not say what architecture it holds"
        raise ModelLoadError(message)
    return str(field.contents())


def _save_tokenizer(source: Path, folder: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(
        source.parent, gguf_file=source.name, trust_remote_code=False
    )
    tokenizer.save_pretrained(folder)


def _stream(source: Path, reader: GGUFReader, folder: Path, architecture: str) -> None:
    """Write shard after shard; never hold more than one."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(
        source.parent, gguf_file=source.name, trust_remote_code=False
    )
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]  # as it ships
            config, dtype=torch.float32, trust_remote_code=False
        )
    tensors = _tensors(model, architecture, config)
    _require_all(tensors, reader)
    _write_shards(tensors, reader, folder)
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)


def _tensors(model: PreTrainedModel, architecture: str, config: PretrainedConfig) -> list[_Tensor]:
    """List the model's tensors with their names in the GGUF file; a tied head is left out."""
    import gguf

    kind = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}[architecture]
    names = gguf.get_tensor_name_map(kind, config.num_hidden_layers)
    tied = set(model.all_tied_weights_keys) if config.tie_word_embeddings else set()
    tensors = []
    for name, value in model.state_dict().items():
        if name in tied:
            continue
        gguf_name = names.get_name(name, try_suffixes=(".weight", ".bias"))
        tensors.append(_Tensor(name, gguf_name or name, tuple(value.shape)))
    return tensors


def _require_all(tensors: list[_Tensor], reader: GGUFReader) -> None:
    """Refuse a file that lacks a tensor, has one of another shape, or has one that nobody wants."""
    # GGUF writes shapes fastest axis first, the model slowest first.
    there = {
        tensor.name: tuple(int(n) for n in reversed(tensor.shape)) for tensor in reader.tensors
    }
    wanted = {tensor.gguf_name: tensor.shape for tensor in tensors}
    for name in sorted(there.keys() | wanted.keys()):
        if there.get(name) != wanted.get(name):
            message = (
                f"tensor {name}: the file has {there.get(name, 'none')}, "
                f"the model wants {wanted.get(name, 'none')}"
            )
            raise ModelLoadError(message, tensor=name)


def _write_shards(tensors: list[_Tensor], reader: GGUFReader, folder: Path) -> None:
    from safetensors.numpy import save_file

    shards = list(_shards(tensors))
    weight_map: dict[str, str] = {}
    for number, shard in enumerate(shards, start=1):
        file = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        save_file(_read(shard, reader), folder / file, metadata={"format": "pt"})
        weight_map |= {tensor.name: file for tensor in shard}
    total = sum(tensor.size_bytes for tensor in tensors)
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps(index, indent=1), encoding="utf-8")


def _shards(tensors: list[_Tensor]) -> Iterator[list[_Tensor]]:
    """Cut the list into runs of at most ``SHARD_BYTES``; a larger tensor is a run of its own."""
    shard: list[_Tensor] = []
    size = 0
    for tensor in tensors:
        if shard and size + tensor.size_bytes > SHARD_BYTES:
            yield shard
            shard, size = [], 0
        shard.append(tensor)
        size += tensor.size_bytes
    yield shard


def _read(shard: list[_Tensor], reader: GGUFReader) -> dict[str, np.ndarray[Any, Any]]:
    import numpy as np
    from gguf import dequantize

    there = {tensor.name: tensor for tensor in reader.tensors}
    arrays = {}
    for tensor in shard:
        packed = there[tensor.gguf_name]
        values = dequantize(packed.data, packed.tensor_type).reshape(tensor.shape)
        arrays[tensor.name] = np.ascontiguousarray(values, dtype=np.float32)
    return arrays


def _load_and_save(source: Path, folder: Path) -> None:
    """Convert by way of a whole model in memory."""
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    model = AutoModelForCausalLM.from_pretrained(
        source.parent,
        gguf_file=source.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.float32,
        trust_remote_code=False,
    )
    model.save_pretrained(folder, max_shard_size=SHARD_BYTES)


def main(arguments: list[str]) -> int:
    """Convert ``arguments[0]`` into ``arguments[1]``; a known error is told as JSON."""
    source, folder = arguments
    try:
        convert(Path(source), Path(folder))
    except ApplyEditError as error:
        sys.stderr.write("\n" + json.dumps(error.to_dict()) + "\n")
        return KNOWN_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
