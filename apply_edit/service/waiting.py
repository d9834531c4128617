"""The queue in front of the batch: who is next.

First come, first served, with two exceptions that keep nobody waiting for ever:

- *Long* prompts have at most half of the rows. So a small request finds a row soon, however many
  large files are being read. A long one that is passed over is the first to get the next row that
  long ones may have.
- Whoever would read the same file that a row is reading just now waits until it is read, and then
  begins with what that row has left in the prefix cache. Reading it twice at once would be slower
  for both.

Knows jobs, neither threads nor targets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from apply_edit.service.job import Job


class Waiting:
    """Jobs that have no row yet.

    Args:
        max_rows: Most jobs that have a row at once.
        long_prompt: A prompt of more tokens than this is long.
    """

    def __init__(self, max_rows: int, long_prompt: int) -> None:
        self._max_rows = max_rows
        self._max_long = (max_rows + 1) // 2
        self._long_prompt = long_prompt
        self._jobs: list[Job] = []

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs)

    def add(self, job: Job) -> None:
        """Put a job at the end."""
        self._jobs.append(job)

    def discard(self, job: Job) -> None:
        """Take a job out, if it is there."""
        if job in self._jobs:
            self._jobs.remove(job)

    def take(self, active: Collection[Job]) -> Job | None:
        """Take out the job that gets the next row, or return None where nobody can have one.

        Args:
            active: Jobs that have a row. Without any, the first job that waits gets one.
        """
        if len(active) >= self._max_rows:
            return None
        no_long = sum(map(self._is_long, active)) >= self._max_long
        being_read = [job.kept_ids for job in active if job.is_reading]
        for job in self._jobs:
            if job.kept_ids in being_read or (no_long and self._is_long(job)):
                continue
            self._jobs.remove(job)
            return job
        return None

    def _is_long(self, job: Job) -> bool:
        return len(job.request.prompt_ids) > self._long_prompt
