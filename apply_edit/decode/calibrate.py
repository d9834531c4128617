"""Measure ``T(width)`` of a target on this machine, and keep it on disk.

A measurement is what the loop pays: one pass over ``width`` new tokens behind a prefix, and the
head and the choice of every row, as when the whole draft is accepted. Passes of all widths are
interleaved, so that a disturbance hits all of them, and the median of each counts.

A file per model, device, number format, number of threads and version of torch. A file that cannot
be read is no file: it is measured anew.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import secrets
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apply_edit.decode.cost import WIDTHS, PassCost
from apply_edit.decode.target import Block, Target

if TYPE_CHECKING:
    from apply_edit.decode.transformers_target import TransformersTarget

QUICK_BUDGET_S = 15.0
_SHORT_S = 2.0
_VERSION = 1
_HEAD_CHUNK = 64
# A few medians are enough; more would only cost time.
_MOST_ROUNDS = 5
# Ends and middle of the table first, so that a short budget still gives the whole shape.
_ORDER = (1, 64, 8, 256, 32, 512, 16, 128, 4, 2)
# Without these two there is no shape; they are measured whatever they take.
_ALWAYS = frozenset({1, 64})
# On a slow machine the prefix stays shorter than asked for: attention is a small part of a pass.
_PREFIX_SHARE = 0.3
_PREFIX_CHUNK = 64
_CAUTION = 1.3
# Ids of the prefix and the blocks: any, but not all the same.
_STEP = 7919

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Key:
    """What a measurement is true for.

    Args:
        model: Folder, and names, sizes and times of its files.
        device: Device and its name.
        dtype: Number format.
        threads: Threads that torch uses.
        torch: Version of torch.
    """

    model: str
    device: str
    dtype: str
    threads: int
    torch: str

    @property
    def file_name(self) -> str:
        """Name of the file that holds the measurement."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24] + ".json"


def key_of(target: TransformersTarget, folder: Path, dtype: str | None = None) -> Key:
    """Return what a measurement of a loaded target is true for.

    Args:
        target: The target.
        folder: Folder that it was loaded from.
        dtype: Number format where the target's own does not tell it (int8), else None.
    """
    import torch

    device = target.device
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor()
    files = sorted(path for path in folder.iterdir() if path.is_file())
    stamp = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    digest = hashlib.sha256(json.dumps(stamp).encode()).hexdigest()[:16]
    return Key(
        model=f"{folder.resolve()} {digest}",
        device=f"{device.type} {name}".strip(),
        dtype=dtype or str(target.dtype).removeprefix("torch."),
        threads=torch.get_num_threads(),
        torch=torch.__version__,
    )


def measure(
    target: Target,
    prefixes: Sequence[int] = (512,),
    budget_s: float = QUICK_BUDGET_S,
    clock: Clock = time.perf_counter,
    told: Callable[[str], None] = lambda line: None,
) -> PassCost:
    """Measure T at every width and prefix, as often as the budget allows.

    Args:
        target: The target; a row of it is opened and closed again.
        prefixes: Prefix lengths; those that the context has no room for are left out.
        budget_s: Seconds in all, shared by the prefixes. Widths that would not fit into it are left
            out; they are interpolated or extrapolated.
        clock: Seconds.
        told: Called with a line about each thing that is done.

    Raises:
        DeviceError: The device has run out of memory.
    """
    limit = target.context_limit
    lengths = sorted({p for p in prefixes if 0 < p < limit} or {max(1, limit // 2)})
    tables: dict[int, dict[int, float]] = {}
    for prefix in lengths:
        told(f"prefix {prefix}")
        tables[prefix] = _measure_after(target, prefix, budget_s / len(lengths), clock)
    # A table has one row of widths: those that every prefix has.
    widths = [w for w in WIDTHS if all(w in table for table in tables.values())]
    return PassCost({p: [table[w] for w in widths] for p, table in tables.items()}, widths)


def _measure_after(target: Target, prefix: int, budget_s: float, clock: Clock) -> dict[int, float]:
    row = target.open_row()
    try:
        started = clock()
        while target.length(row) < prefix and clock() - started < budget_s * _PREFIX_SHARE:
            count = min(_PREFIX_CHUNK, prefix - target.length(row))
            target.score([Block(row, _ids(target, count), 0)])
        _pass(target, row, 1, clock)  # the first pass pays for what is set up once
        seconds: dict[int, list[float]] = {}
        fitting = [w for w in _ORDER if prefix + w <= target.context_limit]
        for _ in range(_MOST_ROUNDS):
            for width in fitting:
                left = budget_s - (clock() - started)
                is_needed = width in _ALWAYS and width not in seconds
                if seconds and not is_needed and _guess(seconds, width) > left:
                    continue
                seconds.setdefault(width, []).append(_pass(target, row, width, clock))
            if clock() - started > budget_s:
                break
        return {width: statistics.median(runs) for width, runs in seconds.items()}
    finally:
        target.close_row(row)


def _guess(seconds: dict[int, list[float]], width: int) -> float:
    """Return how long a pass may take, from the nearest width that was measured."""
    nearest = min(seconds, key=lambda known: abs(math.log(known / width)))
    usual = PassCost.usual("cpu")
    ratio = max(1.0, usual.seconds(width) / usual.seconds(nearest))
    return min(seconds[nearest]) * (ratio if nearest == width else _CAUTION * ratio)


def _pass(target: Target, row: int, width: int, clock: Clock) -> float:
    before = target.length(row)
    block = Block(row, _ids(target, width), width)
    started = clock()
    scores = target.score([block])[0]
    for start in range(0, width, _HEAD_CHUNK):
        rows = scores.logits(start, min(start + _HEAD_CHUNK, width))
        int(rows[-1].argmax())  # waits for the device
    seconds = clock() - started
    target.rollback(row, before)
    # A clock that stands still would give a table that is none.
    return max(seconds, 1e-9)


def _ids(target: Target, count: int) -> tuple[int, ...]:
    return tuple(_STEP * (i + 1) % target.vocab_size for i in range(count))


def load(folder: Path, key: Key) -> PassCost | None:
    """Return a kept measurement, or None where there is none that can be used."""
    try:
        data = json.loads((folder / key.file_name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(data, dict) or data.get("version") != _VERSION:
        return None
    if data.get("key") != asdict(key):
        return None
    return _table(data)


def _table(data: dict[str, Any]) -> PassCost | None:
    try:
        tables = {int(p): [float(s) for s in row] for p, row in data["tables"].items()}
        return PassCost(tables, [int(width) for width in data["widths"]])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def save(folder: Path, key: Key, cost: PassCost) -> Path:
    """Keep a measurement; a reader sees the old one or the new one, whole.

    Raises:
        OSError: The folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / key.file_name
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    data = {
        "version": _VERSION,
        "key": asdict(key),
        "widths": list(cost.widths),
        "tables": {str(prefix): list(row) for prefix, row in cost.tables.items()},
    }
    try:
        temporary.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def cost_of(target: TransformersTarget, model: Path, folder: Path) -> PassCost:
    """Return T for a loaded target without making anybody wait.

    The kept measurement; on CUDA, where it takes a second, one that is made now and kept; elsewhere
    the usual shape, which every pass corrects. ``apply-edit calibrate`` measures.

    Args:
        target: The target.
        model: Folder that it was loaded from.
        folder: Folder of kept measurements.
    """
    if target.device.type == "cuda":
        return quick_cost(target, model, folder)
    return load(folder, key_of(target, model)) or PassCost.usual(target.device.type)


def quick_cost(
    target: TransformersTarget, model: Path, folder: Path, dtype: str | None = None
) -> PassCost:
    """Return the kept measurement, or a short one that is made now and kept.

    Args:
        target: The target, or a draft model.
        model: Folder that it was loaded from.
        folder: Folder of kept measurements.
        dtype: See ``key_of``.
    """
    key = key_of(target, model, dtype)
    kept = load(folder, key)
    if kept is not None:
        return kept
    cost = measure(target, budget_s=_SHORT_S)
    try:
        save(folder, key, cost)
    except OSError:
        # A cache that cannot be written is measured again next time.
        return cost
    return cost
