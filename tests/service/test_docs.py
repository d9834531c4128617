import re
from pathlib import Path

from tests.service.kit import client

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")


def test_the_requests_of_the_page_get_the_answers_that_it_shows():
    """Every request for /v1/apply on the page gets its answer, all fields in their order."""
    shape = (
        r"\$ curl -s 127\.0\.0\.1:8417(/\S+) [^']*'content-type: application/json'[^']*'(.*?)'\n"
    )
    asked = re.findall(shape + r"(\{.*?)```", PAGE, re.DOTALL)
    assert len(asked) == 2
    with client() as asking:
        for path, body, shown in asked:
            headers = {"content-type": "application/json"}
            answer = asking.post(path, content=body, headers=headers).text
            # The page breaks lines, in a text where there is a space.
            assert re.sub(r"\s", "", answer) == re.sub(r"\s", "", shown)
