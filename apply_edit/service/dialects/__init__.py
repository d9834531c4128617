"""What other servers speak, so that their clients work here when only the base URL is changed.

========================  ======================================================================
``records``               messages, and what was asked for
``sections``              tags around file and update (Morph, Relace, FastApply, aiXapply)
``anchors``               Morph's protocol for large files
``prediction``            OpenAI's ``prediction``
``continue_``             Continue: its prompt, its answers
``relace``                Relace's JSON
``chat``                  which of them a chat is
``bodies``                the bodies of requests
``tokens``, ``openai``    counts; answers whole and in events
``carry``, ``streaming``  through the pool, and back
``routes``                the routes
========================  ======================================================================
"""

from __future__ import annotations

from fastapi import APIRouter, Request

from apply_edit.service.dialects.routes import Setup, continue_router, openai_router
from apply_edit.service.dialects.streaming import Pace
from apply_edit.service.dialects.tokens import Estimated, Exact, Tokens
from apply_edit.service.loading import Loading

__all__ = ["Pace", "routers"]


def routers(pace: Pace | None = None) -> list[APIRouter]:
    """Return the routes of all dialects.

    They need ``app.state.pool``, and count by the tokenizer of ``app.state.loading`` where that has
    loaded an engine.

    Args:
        pace: When streams say what; None for the usual.
    """
    setup = Setup(_tokens, pace or Pace())
    return [openai_router(setup), continue_router(setup)]


def _tokens(request: Request) -> Tokens:
    loading: Loading = request.app.state.loading
    loaded = loading.loaded
    return Estimated() if loaded is None else Exact(loaded.engine.tokenizer)
