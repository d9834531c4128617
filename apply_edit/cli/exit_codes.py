"""What the process returns: one table from error to exit code, documented in docs/cli.md."""

from __future__ import annotations

from apply_edit import errors

OK = 0
USAGE = 2
INTERRUPTED = 130

# The most specific class that an error is an instance of decides.
EXIT_CODES: dict[type[errors.ApplyEditError], int] = {
    errors.RequestError: USAGE,
    errors.AnchorNotFound: 3,
    errors.AmbiguousAnchor: 4,
    errors.OverlappingHunks: 5,
    errors.MergeUndetermined: 7,
    errors.GuardRefused: 8,
    errors.OutputTruncated: 9,
    errors.LowConfidence: 15,
    errors.FileMissing: 10,
    errors.FileExists: 16,
    errors.FileBinary: 11,
    errors.FileChanged: 12,
    errors.FileNotWritten: 13,
    errors.FileError: 14,
    errors.ModelNotFound: 20,
    errors.ModelLoadError: 21,
    errors.DownloadFailed: 22,
    errors.DigestMismatch: 23,
    errors.DiskFull: 24,
    errors.DeviceError: 25,
    errors.Busy: 26,
    errors.DeadlineExceeded: 27,
    errors.Stopping: 28,
    errors.Cancelled: INTERRUPTED,
}


def exit_code(error: errors.ApplyEditError) -> int:
    """Return the exit code of an error."""
    for kind in type(error).__mro__:
        if kind in EXIT_CODES:
            return EXIT_CODES[kind]
    return 1
