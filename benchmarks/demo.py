"""Show the product once: a real lazy edit, a real file, a real model; prints diff and report.

``make demo`` runs it. The first run downloads the default target (about 1.1 GB) and converts it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax

from apply_edit import Applier, Config, SourceText
from apply_edit.align import unified_diff
from apply_edit.cli.exit_codes import exit_code
from apply_edit.cli.models import ConsoleProgress
from apply_edit.cli.show import ProgressObserver, show_error, show_report
from apply_edit.config import DEFAULT_TARGET
from apply_edit.errors import ApplyEditError

CASE = Path(__file__).parent.parent / "fixtures" / "python" / "demo_rate_limiter"


def main() -> int:
    """Run the demo; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--target", default=DEFAULT_TARGET)
    options.add_argument("--device", default="auto")
    options.add_argument("--dtype", default="auto")
    options.add_argument("--svg", metavar="PATH", help="also save what was shown as a picture")
    arguments = options.parse_args()
    console = Console(record=arguments.svg is not None)
    errors = Console(stderr=True)
    source = SourceText.from_bytes((CASE / "original.py").read_bytes())
    edit = (CASE / "edit.md").read_text(encoding="utf-8")
    expected = SourceText.from_bytes((CASE / "expected.py").read_bytes())
    console.rule("the edit")
    console.print(Syntax(edit, "python", background_color="default"))
    config = Config(
        strategy="model",
        target=arguments.target,
        device=arguments.device,
        dtype=arguments.dtype,
    )
    started = time.perf_counter()
    try:
        with ProgressObserver(errors) as observer:
            applier = Applier(config, observer=observer, progress=ConsoleProgress(errors))
            result = applier.apply(source.text, edit, path="rate_limiter.py")
    except ApplyEditError as error:
        show_error(errors, error)
        return exit_code(error)
    except KeyboardInterrupt:
        errors.print("cancelled")
        return 130
    seconds = time.perf_counter() - started
    console.rule("the diff of the merged file")
    console.print(
        Syntax(
            unified_diff(source.text, result.text, "rate_limiter.py"),
            "diff",
            background_color="default",
        )
    )
    console.rule("the report")
    if result.report is not None:
        show_report(console, result.report)
    exact = result.text == expected.text and result.strategy == "model"
    console.print(f"strategy {result.strategy}, {seconds:.1f} s in all, target {arguments.target}")
    console.print("[green]exact" if exact else "[red]NOT the expected file")
    if arguments.svg is not None:
        console.save_svg(arguments.svg, title="make demo")
    return 0 if exact else 1


if __name__ == "__main__":
    sys.exit(main())
