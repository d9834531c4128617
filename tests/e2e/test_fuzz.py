"""Requests that Schemathesis makes up from the OpenAPI document, against the service on a socket.

No answer may be a fault of the service, and every answer is one that the document announces: its
status, its content type, its schema. Two of the usual checks do not fit:

- ``positive_data_acceptance``: a request that fits the schema is still refused where the edit does
  not fit the file; that is what the service is for.
- ``negative_data_rejection``, for the dialects: their bodies are read as leniently as the clients
  that send them are varied, so 0 passes for false.

504 is allowed, because requests may bring a deadline of their own.
"""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig

from tests.fakes import writing_engine
from tests.service.kit import service
from tests.service.served import served

pytestmark = pytest.mark.slow

CONFIG = SchemathesisConfig.from_dict(
    {
        "seed": 1,
        "checks": {
            "not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", "504"]},
            "positive_data_acceptance": {"enabled": False},
        },
        "operations": [
            {
                "include-tag": ["dialects", "Continue"],
                "checks": {"negative_data_rejection": {"enabled": False}},
            }
        ],
    }
)
DOCUMENT = schemathesis.openapi.from_dict(service(preload=False).openapi(), config=CONFIG)


@pytest.fixture(scope="module")
def url():
    """The base URL of a service whose target always writes the same file."""
    with served(service(writing_engine("a = 1\n"), max_batch=4)) as url:
        yield url


@DOCUMENT.parametrize()
@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_announced(case, url):
    """Whatever is sent, the answer is no fault of the service and is in its document."""
    case.call_and_validate(base_url=url, timeout=60)
