from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from apply_edit.service.metrics import size_bucket
from tests.service.kit import DIRECT, LAZY, MERGED, ORIGINAL, client


def figures(asking: TestClient) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return all samples by name and labels."""
    answer = asking.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def total(samples: dict[tuple[str, frozenset[tuple[str, str]]], float], name: str, **labels: str):
    """Return the sum of the samples that have these labels."""
    wanted = set(labels.items())
    return sum(value for (n, held), value in samples.items() if n == name and wanted <= held)


def test_applies_are_counted_by_route_class_and_outcome():
    """A result counts as ok under its own strategy, a refusal under its code."""
    lost = {"original": "a\n", "edit": '{"old_str": "b", "new_str": ""}', "strategy": "direct"}
    with client(MERGED) as asking:
        asking.post("/v1/apply", json=DIRECT)
        asking.post("/v1/apply", json={"original": ORIGINAL, "edit": LAZY})
        asking.post("/v1/apply", json=lost)
        asking.post("/v1/batch", json={"items": [DIRECT, lost]})
        found = figures(asking)
    name = "apply_edit_requests_total"
    ok = {"route": "/v1/apply", "outcome": "ok", "size": "le_4k"}
    assert total(found, name, **ok, strategy="direct", format="str_replace") == 1
    assert total(found, name, **ok, strategy="model", format="lazy") == 1
    assert total(found, name, route="/v1/apply", outcome="anchor_not_found") == 1
    assert total(found, name, route="/v1/batch") == 2
    assert total(found, "apply_edit_refusals_total", code="anchor_not_found") == 2
    assert total(found, "apply_edit_seconds_count") == 5


def test_the_targets_work_is_counted_by_region():
    """Tokens, passes and acceptance are those of the report."""
    with client(MERGED) as asking:
        ask = {"original": ORIGINAL, "edit": LAZY, "proposer": "cursor", "gamma": 8}
        report = asking.post("/v1/apply", json=ask).json()["report"]
        found = figures(asking)
    of = {"format": "lazy", "size": "le_4k", "strategy": "model"}
    assert total(found, "apply_edit_drafted_tokens_total", **of) == report["drafted"] > 0
    assert total(found, "apply_edit_accepted_tokens_total", **of) == report["accepted"] > 0
    for region, counts in report["by_region"].items():
        drafted = total(found, "apply_edit_drafted_tokens_total", **of, region=region)
        assert drafted == counts["drafted"]
    assert total(found, "apply_edit_tokens_per_pass_sum", **of) == report["emitted"]
    assert total(found, "apply_edit_tokens_per_pass_count", **of) == report["passes"]
    assert total(found, "apply_edit_first_token_seconds_count", **of) == 1
    first = total(found, "apply_edit_first_token_seconds_sum", **of)
    last = total(found, "apply_edit_last_token_seconds_sum", **of)
    assert 0 < first <= last <= total(found, "apply_edit_seconds_sum", **of)
    assert total(found, "apply_edit_worker_passes_total") >= report["passes"]


def test_prefix_hits_are_counted():
    """The second request for a file begins with what the first has left."""
    original = ORIGINAL + "# a line that makes the file longer\n" * 10
    with client(original.replace("return 1", "return 42")) as asking:
        ask = {"original": original, "edit": LAZY, "scope": "file"}
        asking.post("/v1/apply", json=ask)
        before = figures(asking)
        asking.post("/v1/apply", json=ask)
        after = figures(asking)
    assert total(before, "apply_edit_prefix_hits_total") == 0
    assert total(after, "apply_edit_prefix_hits_total") == 1
    assert total(after, "apply_edit_prefix_misses_total") == 1
    assert total(after, "apply_edit_prefix_tokens_total") > len(original)
    assert total(after, "apply_edit_prefix_bytes") > 0


def test_answers_are_counted_by_route_and_status():
    """Refusals before any route are counted as well, and no path becomes a label."""
    with client() as asking:
        asking.get("/made/up/by/the/caller")
        asking.get("/health")
        asking.get("/health", headers={"host": "evil.example"})
        found = figures(asking)
    name = "apply_edit_http_responses_total"
    assert total(found, name, route="/health", status="200") == 1
    assert total(found, name, route="unknown", status="404") == 1
    assert total(found, name, status="421") == 1


def test_before_loading_there_are_no_figures_of_a_worker():
    """Gates are shown from the start, the worker once there is one."""
    with client() as asking:
        found = figures(asking)
    names = {name for name, _ in found}
    assert "apply_edit_model_inside" in names
    assert "apply_edit_worker_rows" not in names


def test_two_applications_do_not_share_figures():
    """Every application has a registry of its own."""
    with client() as one, client() as other:
        one.post("/v1/apply", json=DIRECT)
        assert total(figures(other), "apply_edit_requests_total") == 0


def test_sizes_fall_into_four_buckets():
    """The buckets end at 4 Ki, 64 Ki and 1 Mi characters."""
    sizes = [0, 1 << 12, (1 << 12) + 1, 1 << 16, (1 << 16) + 1, 1 << 20, (1 << 20) + 1]
    names = ["le_4k", "le_4k", "le_64k", "le_64k", "le_1m", "le_1m", "larger"]
    assert [size_bucket(size) for size in sizes] == names
