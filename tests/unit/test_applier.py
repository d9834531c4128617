import pytest

from apply_edit import Applier, Config, EditFormat, apply
from apply_edit.errors import (
    AmbiguousAnchor,
    AnchorNotFound,
    Cancelled,
    ConfigError,
    EditParseError,
    FileMissing,
    GuardRefused,
    MergeUndetermined,
    OutputTruncated,
)
from tests.fakes import writing_engine

ORIGINAL = """import time


class Clock:
    def now(self):
        return time.time()

    def later(self, seconds):
        return self.now() + seconds
"""
SNIPPET = """class Clock:
    # ... existing code ...

    def later(self, seconds):
        return self.now() + float(seconds)
"""
MERGED = ORIGINAL.replace("+ seconds", "+ float(seconds)")
# The blank context line lacks its space, as models write it.
DIFF = """@@ -5,5 +5,5 @@
         return time.time()

     def later(self, seconds):
-        return self.now() + seconds
+        return self.now() + float(seconds)
"""


def by_model(answer, **options) -> Applier:
    """Return an applier whose target gives this answer and is always asked."""
    return Applier(Config(strategy="model", **options), engine=writing_engine(answer))


class NoEngine:
    """An engine that must not be used."""

    def rewrite(self, *args):
        """Fail."""
        message = "the model was asked"
        raise AssertionError(message)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_lazy_edit_goes_to_the_model(newline):
    """A lazy snippet is written by the target, and the file keeps its line ends."""
    original = ORIGINAL.replace("\n", newline)
    result = Applier(engine=writing_engine(MERGED)).apply(original, SNIPPET, path="clock.py")
    assert result.text == MERGED.replace("\n", newline)
    assert result.strategy == "model"
    assert result.format is EditFormat.LAZY
    assert result.report is not None
    assert result.report.emitted == len(MERGED + "</updated-code>")


def test_the_prediction_is_only_a_draft():
    """Where target and deterministic merge disagree, the target's text is the result."""
    other = MERGED.replace("float(seconds)", "float(seconds) ")
    text = by_model(other, disabled_checks=frozenset({"outside_edit"})).apply(
        ORIGINAL, SNIPPET, path="clock.py"
    )
    assert "float(seconds)" in text.text
    assert text.report.accepted < text.report.drafted


@pytest.mark.parametrize("proposer", ["router", "cursor", "lookup", "none"])
@pytest.mark.parametrize("gamma", [0, 3, 500])
def test_no_proposer_and_no_gamma_changes_the_text(proposer, gamma):
    """Drafting is about speed: the result is the same for every proposer and gamma."""
    applier = by_model(MERGED, proposer=proposer, gamma=gamma)
    assert applier.apply(ORIGINAL, SNIPPET, path="clock.py").text == MERGED


def test_a_diff_that_fits_needs_no_model():
    """A diff that applies exactly is spliced without a model."""
    result = Applier(engine=NoEngine()).apply(ORIGINAL, DIFF, path="clock.py")
    assert (result.text, result.strategy) == (MERGED, "direct")


def test_a_diff_is_shown_to_the_model_when_that_is_asked_for():
    """With strategy model even a diff that fits is carried out by the target."""
    seen = []
    engine = writing_engine(lambda prompt: seen.append(prompt) or MERGED)
    result = Applier(Config(strategy="model"), engine=engine).apply(ORIGINAL, DIFF)
    assert (result.text, result.strategy) == (MERGED, "model")
    assert DIFF in seen[0]


def test_an_edit_that_fits_nowhere_is_refused_at_once():
    """Text that is nowhere in the file is an error; no model is asked to guess."""
    edit = '{"old_str": "completely other text that is not there", "new_str": "x"}'
    with pytest.raises(AnchorNotFound):
        Applier(engine=NoEngine()).apply(ORIGINAL, edit)


def test_an_ambiguous_edit_is_refused_and_not_guessed():
    """An edit that fits two places equally well is an error in every strategy."""
    with pytest.raises(AmbiguousAnchor):
        Applier(engine=NoEngine()).apply("x = 1\nx = 1\n", '{"old_str": "1", "new_str": "2"}')


def test_where_they_differ_auto_takes_the_plain_reading():
    """In auto a target that goes its own way is overruled by a merge with one reading, and told."""
    other = MERGED.replace("float(seconds)", "int(seconds)")
    off = frozenset({"outside_edit", "snippet_missing"})
    for strategy, wanted in (("auto", MERGED), ("model", other)):
        config = Config(strategy=strategy, disabled_checks=off)
        applier = Applier(config, engine=writing_engine(other))
        result = applier.apply(ORIGINAL, SNIPPET, path="clock.py")
        assert result.text == wanted
        assert result.agreement is False
        assert ("model_disagrees" in [n.code for n in result.warnings]) == (strategy == "auto")


def test_agreement_is_in_the_result():
    """When target and merge write the same text the result says so."""
    result = Applier(engine=writing_engine(MERGED)).apply(ORIGINAL, SNIPPET, path="clock.py")
    assert result.agreement is True


def test_a_refused_answer_falls_back_to_the_merge():
    """When the target loses code, the deterministic merge is the result and the result says so."""
    result = by_model("import time\n").apply(ORIGINAL, SNIPPET, path="clock.py")
    assert (result.text, result.strategy) == (MERGED, "merge")
    assert result.warnings[0].code == "model_refused"


def test_a_file_that_is_too_long_for_the_target_is_merged_all_the_same():
    """Where the file does not fit the context, a merge with one plain reading is the result."""
    engine = writing_engine(MERGED)
    engine.target.context_limit = 300
    result = Applier(engine=engine).apply(ORIGINAL, SNIPPET, path="clock.py")
    assert (result.text, result.strategy) == (MERGED, "merge")
    assert engine.target.num_passes == 0


def test_a_refused_answer_without_a_merge_is_an_error():
    """When there is no merge to fall back to, the refusal reaches the caller."""
    with pytest.raises(GuardRefused) as caught:
        by_model("import time\n").apply(ORIGINAL, None, instruction="make later take floats")
    assert caught.value.fields["findings"]


def test_an_answer_that_is_cut_is_never_a_result():
    """An answer that reaches the limit is refused, even where its text looks fine."""
    with pytest.raises(OutputTruncated, match="20 tokens"):
        by_model(MERGED, max_new_tokens=20).apply(ORIGINAL, None, instruction="use floats")


def test_cancelling_gives_no_result():
    """A cancelled apply raises and returns nothing."""
    applier = Applier(
        Config(strategy="model"), engine=writing_engine(MERGED), cancelled=lambda: True
    )
    with pytest.raises(Cancelled):
        applier.apply(ORIGINAL, SNIPPET)


@pytest.mark.parametrize("edit", [SNIPPET, DIFF, MERGED])
def test_a_byte_order_mark_stays(edit):
    """A text that begins with a byte order mark keeps it, whatever the edit is written in."""
    for strategy in ("direct", "auto"):
        applier = Applier(Config(strategy), engine=writing_engine(MERGED))
        assert applier.apply("\ufeff" + ORIGINAL, edit, path="a.py").text == "\ufeff" + MERGED


def test_an_instruction_alone_needs_the_model():
    """An instruction is carried out by the target, and strategy direct refuses it."""
    result = Applier(engine=writing_engine(MERGED)).apply(
        ORIGINAL, None, path="clock.py", instruction="let later take strings too"
    )
    assert (result.text, result.format) == (MERGED, EditFormat.INSTRUCTION)
    with pytest.raises(MergeUndetermined):
        apply(ORIGINAL, None, instruction="x", config=Config(strategy="direct"))


@pytest.mark.parametrize(("edit", "error"), [("", EditParseError), ("  \n", EditParseError)])
def test_an_empty_edit_is_refused(edit, error):
    """There is nothing to do with an empty edit; it never empties a file."""
    with pytest.raises(error, match="empty"):
        apply(ORIGINAL, edit)


def test_neither_edit_nor_instruction_is_refused():
    """One of the two must be given."""
    with pytest.raises(ConfigError):
        apply(ORIGINAL, None)


def test_a_lazy_edit_needs_a_file():
    """A snippet cannot be merged into a file that does not exist."""
    with pytest.raises(FileMissing, match=r"new\.py"):
        apply(None, SNIPPET, path="new.py")


def test_the_caller_may_say_the_format():
    """A forced format is obeyed, and an edit that is not of it is refused."""
    with pytest.raises(EditParseError):
        apply(ORIGINAL, SNIPPET, config=Config(format=EditFormat.UDIFF))


def test_unknown_settings_are_refused():
    """A misspelt option, an unknown check or an impossible gamma is an error, not ignored."""
    with pytest.raises(ConfigError, match="gama"):
        Config.from_mapping({"gama": 3})
    with pytest.raises(ConfigError, match="gamma"):
        Config(gamma=-1)
    with pytest.raises(ConfigError, match="no check"):
        apply(
            "a\n",
            '{"old_str": "a", "new_str": "b"}',
            config=Config(disabled_checks=frozenset({"x"})),
        )


NEAR_MISS = """<<<<<<< SEARCH
        return time.tine()
=======
        return time.monotonic()
>>>>>>> REPLACE
"""


def test_a_refusal_stays_one_where_the_target_finds_nothing_to_do():
    """Text that is not there, and a target that changes nothing: the near miss is told."""
    asked = []

    def unchanged(prompt):
        asked.append(prompt)
        return ORIGINAL

    with pytest.raises(AnchorNotFound, match=r"time\.tine") as error:
        Applier(engine=writing_engine(unchanged)).apply(ORIGINAL, NEAR_MISS, path="clock.py")
    assert asked
    assert error.value.fields["nearest"]["first_difference"]["line"] == 6


def test_an_edit_that_was_applied_before_asks_no_target():
    """It is told without a model, in every structured format, and the text stays."""
    for edit in (
        '{"old_str": "return time.tick()", "new_str": "return time.time()"}',
        NEAR_MISS.replace("time.monotonic()", "time.time()"),
        "@@ -5,2 +5,2 @@\n     def now(self):\n-        return 0\n+        return time.time()\n",
    ):
        result = Applier(engine=NoEngine()).apply(ORIGINAL, edit, path="clock.py")
        assert (result.text, result.strategy) == (ORIGINAL, "direct")
        assert [warning.code for warning in result.warnings if "count" not in warning.code] == [
            "already_applied"
        ]


def test_characters_that_cannot_be_told_are_not_left_to_the_target():
    """A target would copy the edit's quotes into code; the refusal stands."""
    edit = NEAR_MISS.replace("time.tine()", "time\u2010time()").replace("()", "(\u2018a\u2019)")
    original = ORIGINAL.replace("time.time()", "time-time('a')")
    edit = edit.replace("time.monotonic", "time\u2010time").replace("\u2019)\n>", "\u201d)\n>")
    with pytest.raises(AnchorNotFound, match="quotes, dashes or spaces") as error:
        Applier(engine=NoEngine()).apply(original, edit, path="clock.py")
    assert error.value.fields["doubt"] == "spelling"
