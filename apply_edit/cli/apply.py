"""``apply-edit FILE --edit EDIT``: read, merge, show or write."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from apply_edit.applier import Applier
from apply_edit.cli import streams
from apply_edit.cli.models import ConsoleProgress
from apply_edit.cli.options import apply_options, check_combination, to_config
from apply_edit.cli.show import ProgressObserver, coloured, print_error, show_report
from apply_edit.errors import ApplyEditError, ConfigError, FileError, FileMissing
from apply_edit.facts import facts_of
from apply_edit.files import absent, read_source, write_atomic
from apply_edit.remote.applier import ServiceApplier
from apply_edit.text import SourceText
from apply_edit.workspace import Applies, Merged, diff, merge_file, merge_patch, write


@click.command("apply")
@apply_options
def apply_command(**options: Any) -> None:  # noqa: ANN401 click hands over what it has parsed
    """Merge an edit into FILE and print the result, or write it with --in-place.

    The edit may be a lazy snippet with "existing code" markers, a unified diff, SEARCH/REPLACE
    blocks, a V4A patch, str_replace JSON or a whole file; its format is detected.
    """
    with _json_errors(as_json=options["as_json"]):
        check_combination(options)
        if _prints(options):
            streams.require_output()
        console = Console(stderr=True)
        if options["root"] is not None:
            merged = _apply_patch(options, console)
        else:
            merged = [_apply_one(options, console)]
        _give(merged, options, console)


def _apply_one(options: dict[str, Any], console: Console) -> Merged:
    edit = _read_edit(options["edit"])
    with ProgressObserver(console, quiet=options["quiet"], explain=options["explain"]) as observer:
        config = to_config(options)
        local = Applier(config, observer=observer, progress=ConsoleProgress(console))
        applier: Applies = local
        # Why a draft has its length is known only to the process that decodes.
        if not options["no_service"] and not options["explain"]:
            note = _noter(console, quiet=options["quiet"])
            applier = ServiceApplier(config, local, observer=observer, note=note)
        return merge_file(options["file"], edit, applier, instruction=options["instruction"])


def _apply_patch(options: dict[str, Any], console: Console) -> list[Merged]:
    config = to_config(options)
    edit = _read_edit(options["edit"]) or ""
    with ProgressObserver(console, quiet=options["quiet"], explain=options["explain"]) as observer:
        applier = Applier(config, observer=observer, progress=ConsoleProgress(console))
        return merge_patch(options["root"], edit, config.format, applier)


def _read_edit(name: str | None) -> str | None:
    if name is None:
        return None
    if name == "-":
        return SourceText.from_bytes(_standard_input(), "standard input").text
    try:
        return read_source(name)[0].text
    except FileMissing:
        message = f"there is no file {name} to read the edit from; --edit - reads standard input"
        raise FileMissing(message, path=name) from None


def _standard_input() -> bytes:
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        reason = "it is closed" if error.errno == errno.EBADF else error.strerror
        message = f"the edit cannot be read from standard input: {reason}"
        raise FileError(message, path="-") from None


def _give(merged: list[Merged], options: dict[str, Any], console: Console) -> None:
    """Write what is to be written, then print what is to be printed."""
    destination: Path | None = options["destination"]
    if options["in_place"]:
        write(merged, options["root"])
    elif destination is not None:
        _write_to(destination, merged[0])
    if options["as_json"]:
        _print_json(merged, options)
    elif _prints(options):
        usual = sys.stdout.isatty() or options["root"] is not None
        if options["diff"] or (usual and not options["stdout"]):
            _print_diffs(merged)
        else:
            _print_bytes(merged)
    for each in merged:
        _tell(each, options, console)


def _prints(options: dict[str, Any]) -> bool:
    """Say whether something goes to standard output."""
    is_written = options["in_place"] or options["destination"] is not None
    return bool(options["as_json"]) or not is_written


def _write_to(destination: Path, each: Merged) -> None:
    if each.data is None:
        message = "the edit deletes the file, so there is nothing to write to --output"
        raise ConfigError(message, option="output")
    try:
        _, stamp = read_source(destination)
    except FileMissing:
        stamp = absent(destination)
    write_atomic(destination, each.data, stamp)


def _print_json(merged: list[Merged], options: dict[str, Any]) -> None:
    objects = [
        {
            "path": str(each.path),
            "changed": not each.is_unchanged,
            "text": None if each.result.deleted else each.result.text,
            **({"diff": diff(each)} if options["diff"] else {}),
            **facts_of(each.result),
        }
        for each in merged
    ]
    whole = {"files": objects} if options["root"] is not None else objects[0]
    click.echo(json.dumps(whole, ensure_ascii=False))


def _print_bytes(merged: list[Merged]) -> None:
    for each in merged:
        sys.stdout.buffer.write(each.data or b"")
    sys.stdout.buffer.flush()


def _print_diffs(merged: list[Merged]) -> None:
    """Print the diffs: coloured on a terminal, byte for byte elsewhere."""
    for each in merged:
        text = diff(each)
        if sys.stdout.isatty():
            click.echo(coloured(text), nl=False)
        else:
            # Git reads no UTF-16; a diff of such a file is for people.
            wide = each.source.encoding.startswith(("utf-16", "utf-32"))
            sys.stdout.buffer.write(text.encode("utf-8" if wide else each.source.encoding))
            sys.stdout.buffer.flush()


def _tell(each: Merged, options: dict[str, Any], console: Console) -> None:
    """Say on standard error what else there is to say."""
    if not options["quiet"]:
        for notice in each.result.warnings:
            where = f" (line {notice.lines[0]})" if notice.lines else ""
            _say(console, f"warning: {notice.message}{where}")
        if each.is_unchanged:
            _say(console, f"{each.path}: no change")
    if options["stats"]:
        _say(console, f"strategy {each.result.strategy}, format {each.result.format.value}")
        if each.result.report is not None:
            show_report(console, each.result.report)


def _noter(console: Console, *, quiet: bool) -> Callable[[str], None]:
    def note(text: str) -> None:
        if not quiet:
            _say(console, f"note: {text}")

    return note


def _say(console: Console, text: str) -> None:
    """Print one line as it is: no markup, and no breaking where nobody has a terminal."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _json_errors(*, as_json: bool) -> Iterator[None]:
    """With --json an error is an object on standard output as well."""
    try:
        yield
    except ApplyEditError as error:
        if as_json:
            print_error(error)
        raise
