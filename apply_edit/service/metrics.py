"""Figures for Prometheus: what was asked for, what became of it, and what the target did.

Every figure about an apply has the same three labels, its *class*: the format of the edit, a size
bucket of the file and the strategy. Nothing here holds a path or a model's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from apply_edit.service.errand import Outcome, Work
from apply_edit.service.gate import Gate

if TYPE_CHECKING:
    from apply_edit.service.worker import WorkerStats

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_CLASS = ("format", "size", "strategy")
_SIZES = ((4 << 10, "le_4k"), (64 << 10, "le_64k"), (1 << 20, "le_1m"))
_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def size_bucket(num_chars: int) -> str:
    """Return the bucket of a file's size.

    >>> size_bucket(4096), size_bucket(4097), size_bucket(5_000_000)
    ('le_4k', 'le_64k', 'larger')
    """
    return next((name for limit, name in _SIZES if num_chars <= limit), "larger")


class Metrics:
    """The figures of one application, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = self._counter(
            "requests", "Applies by outcome: ok or an error code.", ("route", *_CLASS, "outcome")
        )
        self._refusals = self._counter("refusals", "Applies without a result, by error.", ("code",))
        self._answers = self._counter("http_responses", "HTTP answers.", ("route", "status"))
        self._first = self._histogram("first_token_seconds", "Arrival to first token.", _SECONDS)
        self._last = self._histogram("last_token_seconds", "Arrival to last token.", _SECONDS)
        self._whole = self._histogram("seconds", "Arrival to result or refusal.", _SECONDS)
        self._per_pass = self._histogram("tokens_per_pass", "Tokens that a pass emits.", _TOKENS)
        regions = (*_CLASS, "region")
        self._drafted = self._counter("drafted_tokens", "Draft tokens offered.", regions)
        self._accepted = self._counter("accepted_tokens", "Draft tokens accepted.", regions)

    def render(self) -> bytes:
        """Return all figures in Prometheus' text format."""
        return generate_latest(self.registry)

    def answered(self, route: str, status: int) -> None:
        """Count an HTTP answer."""
        self._answers.labels(route, str(status)).inc()

    def applied(self, route: str, work: Work, outcome: Outcome) -> None:
        """Count an apply and what the target did for it."""
        labels = _class_of(work, outcome)
        self._requests.labels(route, *labels, outcome.error or "ok").inc()
        self._whole.labels(*labels).observe(outcome.seconds)
        if outcome.error is not None:
            self._refusals.labels(outcome.error).inc()
        if outcome.first_token_s is not None:
            self._first.labels(*labels).observe(outcome.first_token_s)
        if outcome.last_token_s is not None:
            self._last.labels(*labels).observe(outcome.last_token_s)
        report = None if outcome.result is None else outcome.result.report
        for record in report.records if report is not None else ():
            self._per_pass.labels(*labels).observe(record.emitted)
            for region, _, drafted, accepted in record.runs:
                self._drafted.labels(*labels, region or "unknown").inc(drafted)
                self._accepted.labels(*labels, region or "unknown").inc(accepted)

    def watch_gate(self, name: str, gate: Gate) -> None:
        """Show how many are in a gate and how many wait in front of it."""
        inside = self._gauge(f"{name}_inside", f"Applies that have a {name} place.")
        inside.set_function(lambda: gate.inside)
        waiting = self._gauge(f"{name}_waiting", f"Applies that wait for a {name} place.")
        waiting.set_function(lambda: gate.waiting)

    def watch_worker(self, read: Callable[[], WorkerStats | None]) -> None:
        """Show the worker's own figures; ``read`` returns None while there is no worker."""
        self.registry.register(_WorkerCollector(read))

    def _counter(self, name: str, text: str, labels: Iterable[str]) -> Counter:
        return Counter(f"apply_edit_{name}", text, tuple(labels), registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"apply_edit_{name}", text, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(
            f"apply_edit_{name}", text, _CLASS, buckets=buckets, registry=self.registry
        )


class _WorkerCollector(Collector):
    """Reads the worker's figures when somebody asks for the metrics."""

    def __init__(self, read: Callable[[], WorkerStats | None]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        """Return the figures; none while there is no worker."""
        stats = self._read()
        if stats is None:
            return
        counters: dict[str, tuple[str, float]] = {
            "worker_passes": ("Passes of the target.", stats.passes),
            "prefix_hits": ("Requests that began with a cached prefix.", stats.prefix_hits),
            "prefix_tokens": ("Prompt tokens that were not read again.", stats.prefix_tokens),
            "prefix_misses": ("Requests that found none.", stats.prefix_misses),
        }
        gauges: dict[str, tuple[str, float]] = {
            "worker_rows": ("Requests in the batch.", stats.rows),
            "worker_waiting": ("Requests that wait for the batch.", stats.waiting),
            "worker_stalled_seconds": ("Seconds without progress.", stats.stalled_s),
            "prefix_bytes": ("Memory of the prefix cache.", stats.prefix_bytes),
        }
        for name, (text, value) in counters.items():
            yield CounterMetricFamily(f"apply_edit_{name}", text, value=value)
        for name, (text, value) in gauges.items():
            yield GaugeMetricFamily(f"apply_edit_{name}", text, value=value)


def _class_of(work: Work, outcome: Outcome) -> tuple[str, str, str]:
    """Return format, size bucket and strategy of an apply; of a refused one, what was asked for."""
    result, config = outcome.result, work.config
    if result is not None:
        return result.format.value, size_bucket(work.num_chars), result.strategy
    asked = "unknown" if config.format is None else config.format.value
    return asked, size_bucket(work.num_chars), config.strategy
