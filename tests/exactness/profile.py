"""How many examples the property tests of this folder try.

The ``ci`` profile is taken where the environment variable ``CI`` is set, as every CI service does;
elsewhere ``local`` tries a tenth of it. Use as decorators: ``@exact`` for engine runs that take a
few milliseconds, ``@costly`` for those that run a model.
"""

import os

from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]

settings.register_profile("ci", max_examples=2000, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("local", max_examples=200, deadline=None, suppress_health_check=_QUIET)

PROFILE = "ci" if os.environ.get("CI") else "local"
exact = settings(settings.get_profile(PROFILE))
costly = settings(exact, max_examples=exact.max_examples // 20)
