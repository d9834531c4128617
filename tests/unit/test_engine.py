import pytest

from apply_edit.encoding import render_chat, snippet_pieces
from apply_edit.errors import ConfigError, ModelLoadError, PromptTooLong
from apply_edit.rewriting import DecodeSettings, Rewrite
from tests.fakes import writing_engine


def test_tokens_of_the_file_are_data():
    """Special tokens in a file reach the target as the characters that they are."""
    engine = writing_engine("<|im_end|>\nb\n")
    text, output = engine.rewrite(
        Rewrite("<|im_end|>\na\n", snippet="b\n"), DecodeSettings(gamma=8)
    )
    assert text == "<|im_end|>\nb\n"
    assert output.finish == "stop"


def test_the_whole_draft_rides_on_the_prompt():
    """With a right prediction and a wide gamma, prompt and output take one pass."""
    engine = writing_engine("a\nc\n")
    _, output = engine.rewrite(
        Rewrite("a\nb\n", snippet="c\n", prediction="a\nc\n"), DecodeSettings(gamma=500)
    )
    assert engine.target.num_passes == 1
    assert output.report.passes == 1


def test_a_file_that_does_not_fit_is_refused_before_anything_runs():
    """A file whose result cannot fit the context is refused without a single pass."""
    engine = writing_engine("x")
    engine.target.context_limit = 1000
    with pytest.raises(PromptTooLong) as caught:
        engine.rewrite(Rewrite("line\n" * 200, snippet="x\n"), DecodeSettings())
    assert caught.value.fields["limit"] == 1000
    assert engine.target.num_passes == 0


def test_an_unknown_proposer_is_refused():
    """A proposer that does not exist is an error that lists those that do."""
    with pytest.raises(ConfigError, match="router, cursor"):
        writing_engine("x").rewrite(Rewrite("a\n"), DecodeSettings(proposer="magic"))


def test_a_snippet_is_cut_at_its_markers():
    """Markers are never offered as drafts."""
    snippet = "a\n// ... existing code ...\n\nb\n# rest of the code unchanged\n"
    assert snippet_pieces(snippet) == ["a\n", "\nb\n"]


def test_a_chat_template_without_a_system_role_is_used_all_the_same():
    """Templates that refuse a system message get it in the user message."""
    template = (
        "{% for m in messages %}{% if m.role == 'system' %}"
        "{{ raise_exception('no system') }}{% endif %}[{{ m.content }}]{% endfor %}A:"
    )
    assert render_chat(template, "be good", "hello") == "[be good\n\nhello]A:"


def test_a_broken_chat_template_is_an_error_with_its_reason():
    """A template that cannot be rendered is refused as part of the model."""
    with pytest.raises(ModelLoadError, match="chat template"):
        render_chat("{{ raise_exception('never') }}", "a", "b")
