"""The protocol's side: lists the tools, runs them in threads, reports progress, obeys cancelling.

An edit is merged in a thread that is abandoned when the client cancels: it stops before its next
pass and writes nothing. Writing itself cannot be cancelled, so a file is the old one or the new.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    ListToolsResult,
    PaginatedRequestParams,
)

import apply_edit
from apply_edit.errors import ApplyEditError, ConfigError
from apply_edit.mcp import results
from apply_edit.mcp.editor import Change, Editor
from apply_edit.mcp.roots import Roots, of_client, working_directory
from apply_edit.mcp.tools import TOOLS, ApplyPatchArguments, EditFileArguments, read_arguments
from apply_edit.mcp.watch import Watch

Context: TypeAlias = ServerRequestContext[dict[str, Any], Any]

_PROGRESS_S = 0.25
_ROOTS_S = 10.0
_ROOTS_KEY = "roots"


def build(editor: Editor, roots: Roots | None) -> Server[dict[str, Any]]:
    """Return a server for the tools.

    Args:
        editor: Carries out edits.
        roots: What it may touch; None asks each client, and takes the working directory for one
            that has nothing to say about it.
    """
    tools = _Tools(editor, roots)
    return Server(
        "apply-edit",
        version=apply_edit.__version__,
        title="apply-edit",
        instructions="Use edit_file for one file and apply_patch for a diff over several.",
        on_list_tools=tools.list,
        on_call_tool=tools.call,
    )


class _Tools:
    """Handlers of one server."""

    def __init__(self, editor: Editor, roots: Roots | None) -> None:
        self._editor = editor
        self._roots = roots
        self._locks: WeakValueDictionary[Path, anyio.Lock] = WeakValueDictionary()

    async def list(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        """List the tools."""
        del ctx, params
        return ListToolsResult(tools=list(TOOLS))

    async def call(
        self, ctx: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Run a tool.

        Raises:
            MCPError: There is no such tool.
        """
        run = {"edit_file": self._edit_file, "apply_patch": self._apply_patch}.get(params.name)
        if run is None:
            message = f"there is no tool {params.name!r}; there are edit_file and apply_patch"
            raise MCPError(INVALID_PARAMS, message)
        try:
            roots = self._roots or await _roots_for(ctx, params)
            if isinstance(roots, InputRequiredResult):
                return roots
            return await run(ctx, params.arguments, roots)
        except ApplyEditError as error:
            return results.refused(error)

    async def _edit_file(self, ctx: Context, values: object, roots: Roots) -> CallToolResult:
        arguments = read_arguments(EditFileArguments, values)
        _, path = roots.place(arguments.path)
        # Agents send several edits of one file at once: each must see what the one before wrote.
        lock = self._locks.setdefault(path, anyio.Lock())
        async with lock:
            work = partial(self._editor.edit_file, roots, arguments)
            change = await _merged(ctx, work)
            await _write(change, dry_run=arguments.dry_run)
        return results.edited(change, dry_run=arguments.dry_run)

    async def _apply_patch(self, ctx: Context, values: object, roots: Roots) -> CallToolResult:
        arguments = read_arguments(ApplyPatchArguments, values)
        change = await _merged(ctx, partial(self._editor.apply_patch, roots, arguments))
        await _write(change, dry_run=arguments.dry_run)
        return results.patched(change, dry_run=arguments.dry_run)


async def _merged(ctx: Context, work: Callable[[Watch], Change]) -> Change:
    """Run the merging in a thread, with progress; when this is cancelled, the thread stops soon."""
    watch = Watch()
    outcome: Change | ApplyEditError
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_report, ctx, watch)
        try:
            outcome = await anyio.to_thread.run_sync(work, watch, abandon_on_cancel=True)
        except ApplyEditError as error:
            outcome = error
        finally:
            watch.stop()
        tasks.cancel_scope.cancel()
    if isinstance(outcome, ApplyEditError):
        raise outcome
    return outcome


async def _report(ctx: Context, watch: Watch) -> None:
    """Tell the client how far it is; nothing is sent where it did not ask for that."""
    told = 0.0
    while True:
        await anyio.sleep(_PROGRESS_S)
        if watch.value > told:
            told = watch.value
            await ctx.session.report_progress(told, watch.total, watch.text)


async def _write(change: Change, *, dry_run: bool) -> None:
    if not dry_run:
        await anyio.to_thread.run_sync(change.write)


async def _roots_for(ctx: Context, params: CallToolRequestParams) -> Roots | InputRequiredResult:
    """Return the client's roots, the working directory, or the question for the client.

    Raises:
        ConfigError: The client does not answer, or with no folder on this machine.
    """
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return working_directory()
    answers = params.input_responses or {}
    if _ROOTS_KEY in answers:
        answer = answers[_ROOTS_KEY]
    elif not ctx.session.can_send_request:
        return InputRequiredResult(input_requests={_ROOTS_KEY: ListRootsRequest()})
    else:
        answer = await _ask_roots(ctx)
    if not isinstance(answer, ListRootsResult):
        message = "the client was asked for its roots and answered something else; use --root DIR"
        raise ConfigError(message, option="root")
    return of_client([str(root.uri) for root in answer.roots])


async def _ask_roots(ctx: Context) -> ListRootsResult:
    try:
        return await ctx.session.send_request(
            ListRootsRequest(),
            ListRootsResult,
            request_read_timeout_seconds=_ROOTS_S,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except MCPError as error:
        message = f"the client says it has roots and does not name them ({error}); use --root DIR"
        raise ConfigError(message, option="root") from None
