"""Every error that a caller of apply-edit can meet.

::

    ApplyEditError
    ├── RequestError            the request cannot be carried out as it was put
    │   ├── EditParseError      the edit is not a well-formed edit of its format
    │   ├── UnsupportedLanguage a language was asked for that we have no grammar for
    │   ├── PromptTooLong       file and edit do not fit into the model's context
    │   └── ConfigError         an option has an impossible value, or options contradict each other
    ├── FileError               the file itself is in the way
    │   ├── FileMissing         there is no such file
    │   ├── FileExists          the edit makes a file, or moves one to a name, that is there already
    │   ├── FileBinary          the file is not text
    │   ├── FileChanged         the file changed on disk between reading and writing
    │   └── FileNotWritten      the operating system refused the write (no space, no permission)
    ├── ApplyError              the edit was understood, and applying it would not be right
    │   ├── AnchorNotFound      the text that the edit names is not in the file
    │   ├── AmbiguousAnchor     it is there more than once, and nothing says which one is meant
    │   ├── OverlappingHunks    two hunks want the same lines
    │   ├── MergeUndetermined   a snippet has no single plain reading, so no merge without a model
    │   ├── GuardRefused        the merged text failed a check of the guard
    │   ├── LowConfidence       the model was not sure enough of what it wrote
    │   └── OutputTruncated     the model stopped before the file was complete
    └── EngineError             the model or the machine is in the way
        ├── ModelNotFound       no such model by that name, folder or file
        ├── ModelLoadError      the model is there and cannot be used
        ├── DownloadFailed      every source of a model failed
        ├── DigestMismatch      a file is not the one that was asked for
        ├── DiskFull            not enough space for the model
        ├── DeviceError         the device is missing or out of memory
        ├── Busy                (retryable) somebody else holds what is needed
        ├── DeadlineExceeded    (retryable) the time that was allowed has run out
        ├── Stopping            (retryable) the service is ending and takes nothing on
        └── Cancelled           the caller asked to stop

Programming errors and violations of exactness are not in this tree: they are ``AssertionError`` or
``RuntimeError``, and they are bugs.
"""

from __future__ import annotations

from typing import Any, ClassVar


class ApplyEditError(Exception):
    """Base of the tree. ``code`` is stable and for programs, the message is for people.

    Args:
        message: What happened, where, and what to do about it.
        **fields: Structured facts (line numbers, spans, counts); JSON-serialisable.
    """

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **fields: Any) -> None:  # noqa: ANN401 any JSON value
        super().__init__(message)
        self.message = message
        self.fields: dict[str, Any] = fields

    def to_dict(self) -> dict[str, Any]:
        """Return the error as one JSON-serialisable object."""
        return {
            "code": self.code,
            "message": self.message,
            "retryable": self.retryable,
            **self.fields,
        }


class RequestError(ApplyEditError):
    """The request cannot be carried out as it was put."""

    code = "request_error"


class EditParseError(RequestError):
    """The edit is not a well-formed edit of its format. Fields: ``line`` (1-based) where known."""

    code = "edit_parse_error"


class UnsupportedLanguage(RequestError):
    """A language was asked for that there is no grammar for."""

    code = "unsupported_language"


class PromptTooLong(RequestError):
    """File and edit do not fit into the context. Fields: ``limit``, ``actual`` (tokens)."""

    code = "prompt_too_long"


class ConfigError(RequestError):
    """An option has an impossible value, or options contradict each other."""

    code = "config_error"


class FileError(ApplyEditError):
    """The file itself is in the way. Fields: ``path``."""

    code = "file_error"


class FileMissing(FileError):
    """There is no such file."""

    code = "file_missing"


class FileExists(FileError):
    """The edit makes a file, or moves one to a name, that is there already."""

    code = "file_exists"


class FileBinary(FileError):
    """The file is not text in any encoding that is read without loss."""

    code = "file_binary"


class FileChanged(FileError):
    """The file changed on disk between reading and writing."""

    code = "file_changed"


class FileNotWritten(FileError):
    """The operating system refused the write."""

    code = "file_not_written"


class ApplyError(ApplyEditError):
    """The edit was understood, and applying it would not be right."""

    code = "apply_error"


class AnchorNotFound(ApplyError):
    """The text that the edit names is not in the file.

    Fields: ``hunk`` (0-based), ``nearest`` (``{"start_line", "end_line", "score",
    "first_difference": {"expected", "found", "line"}}`` or ``None``), ``already_applied`` (bool,
    the new text is there), ``hunks`` (a status per hunk), ``doubt`` (``indentation`` or
    ``spelling``, where the place is known and the new text is not).
    """

    code = "anchor_not_found"


class AmbiguousAnchor(ApplyError):
    """The text is there more than once. Fields: ``hunk``, ``count``, ``lines`` (1-based)."""

    code = "ambiguous_anchor"


class OverlappingHunks(ApplyError):
    """Two hunks want the same lines. Fields: ``hunks`` (two indexes), ``lines``."""

    code = "overlapping_hunks"


class MergeUndetermined(ApplyError):
    """A snippet has no single plain reading. Fields: ``reason`` (a stable word), ``line``."""

    code = "merge_undetermined"


class GuardRefused(ApplyError):
    """The merged text failed a check of the guard. Fields: ``findings`` (a list of objects)."""

    code = "guard_refused"


class LowConfidence(ApplyError):
    """The model was not sure of its text. Fields: ``confidence``, ``least``, ``lines``."""

    code = "low_confidence"


class OutputTruncated(ApplyError):
    """The model stopped before the file was complete. Fields: ``limit``, ``emitted`` (tokens)."""

    code = "output_truncated"


class EngineError(ApplyEditError):
    """The model or the machine is in the way."""

    code = "engine_error"


class ModelNotFound(EngineError):
    """No such model by that name, folder, file or hub id."""

    code = "model_not_found"


class ModelLoadError(EngineError):
    """The model is there and cannot be used."""

    code = "model_load_error"


class DownloadFailed(EngineError):
    """Every source of a model failed. Fields: ``attempts`` (a message per source)."""

    code = "download_failed"
    retryable = True


class DigestMismatch(EngineError):
    """A file is not the one that was asked for. Fields: ``expected``, ``actual`` (SHA-256)."""

    code = "digest_mismatch"


class DiskFull(EngineError):
    """Not enough space for the model. Fields: ``path``, ``needed_bytes``, ``free_bytes``."""

    code = "disk_full"


class DeviceError(EngineError):
    """The device is missing or out of memory."""

    code = "device_error"


class Busy(EngineError):
    """Somebody else holds what is needed; trying again later can work."""

    code = "busy"
    retryable = True


class DeadlineExceeded(EngineError):
    """The time that was allowed has run out."""

    code = "deadline_exceeded"
    retryable = True


class Stopping(EngineError):
    """The service is ending and takes nothing on."""

    code = "stopping"
    retryable = True


class Cancelled(EngineError):
    """The caller asked to stop."""

    code = "cancelled"
