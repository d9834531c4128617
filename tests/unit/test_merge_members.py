"""New members that begin like the members that a marker hides."""

import pytest

from apply_edit.errors import MergeUndetermined
from apply_edit.merge import merge_lazy

PY = "class A:\n    @property\n    def a(self):\n        return 1\n"
JAVA = (
    "class A {\n    int n;\n\n    @Override\n    int get() {\n        return n;\n    }\n\n"
    "    int twice() {\n        return 2 * n;\n    }\n}\n"
)
RUST = (
    "mod tests {\n    use super::*;\n\n    #[test]\n    fn opens() {\n        assert!(open());\n"
    "    }\n}\n"
)
CSHARP = (
    "public class T\n{\n    [Fact]\n    public void Adds()\n    {\n        Assert.Equal(1, n);\n"
    "    }\n}\n"
)
CASES = [
    (
        "python",
        PY,
        "class A:\n    # ...\n\n    @property\n    def b(self):\n        return 2\n",
        PY + "\n    @property\n    def b(self):\n        return 2\n",
    ),
    (
        "java",
        JAVA,
        "class A {\n    // ...\n\n    @Override\n    boolean equals(Object o) {\n"
        "        return o == this;\n    }\n}\n",
        JAVA[:-2]
        + "\n    @Override\n    boolean equals(Object o) {\n        return o == this;\n    }\n}\n",
    ),
    (
        "rust",
        RUST,
        "mod tests {\n    use super::*;\n\n    // ...\n\n    #[test]\n    fn shuts() {\n"
        "        shut();\n    }\n}\n",
        RUST[:-2] + "\n    #[test]\n    fn shuts() {\n        shut();\n    }\n}\n",
    ),
    (
        "csharp",
        CSHARP,
        "public class T\n{\n    // ...\n\n    [Fact]\n    public void Clears()\n    {\n"
        "        Assert.Equal(0, n);\n    }\n}\n",
        CSHARP[:-2]
        + "\n    [Fact]\n    public void Clears()\n    {\n        Assert.Equal(0, n);\n    }\n}\n",
    ),
]


@pytest.mark.parametrize(
    ("language", "file", "snippet", "expected"), CASES, ids=[case[0] for case in CASES]
)
def test_an_annotation_in_common_does_not_make_two_members_one(language, file, snippet, expected):
    """The new member is added behind the hidden ones, which keep their annotations."""
    assert merge_lazy(file, snippet, language=language).text == expected


def test_a_changed_annotation_takes_the_place_of_the_one_of_its_name():
    """Above the same head ``derive`` is ``derive``; one of another name may be stacked on it."""
    file = "use a;\n\n#[derive(Debug)]\nstruct S {\n    n: i32,\n}\n"
    snippet = "// ...\n#[derive(Debug, Clone)]\nstruct S {\n    // ...\n}\n"
    text = merge_lazy(file, snippet, language="rust").text
    assert text == file.replace("(Debug)", "(Debug, Clone)")
    with pytest.raises(MergeUndetermined, match="it may be new or replace"):
        merge_lazy(file, snippet.replace("derive(Debug, Clone)", "repr(C)"), language="rust")


def test_a_marker_that_would_stand_for_nothing_refuses_a_loss():
    """Whoever writes a marker in a block knows that there is code; so none may go in its place."""
    file = "describe A do\n  it 'a' do\n    expect(1).to eq 1\n  end\nend\n"
    snippet = "describe A do\n  # ...\n\n  it 'b' do\n    visit root_path\n  end\nend\n"
    try:
        text = merge_lazy(file, snippet, language="ruby").text
    except MergeUndetermined:
        return
    assert "it 'a' do" in text


@pytest.mark.parametrize("end", ["        order.reason = reason\n", "        order.mark()\n"])
def test_a_marker_behind_a_new_line_of_a_method_deletes_nothing(end):
    """Dedented or not: where the last line does not end the method, the rest may only be hidden."""
    file = (
        "class S:\n    def cancel(self, order):\n        order.cancelled = True\n"
        "        self.save(order)\n        self.mail(order)\n\n    def other(self):\n        pass\n"
    )
    head = "# ...\n    def cancel(self, order):\n        order.cancelled = True\n"
    for marker in ("# ...\n", "    # ...\n"):
        with pytest.raises(MergeUndetermined, match="the block ends here"):
            merge_lazy(file, head + end + marker, language="python")
    shown = merge_lazy(file, head + end + "        return order\n\n    # ...\n", language="python")
    assert "self.mail" not in shown.text


def test_a_changed_last_line_is_not_added_beside_the_old_one():
    """Behind an inner marker: the same key is replaced, the same call is refused."""
    go = "func set() error {\n\ta()\n\ts.items[key] = value\n\treturn nil\n}\n"
    snippet = "func set() error {\n\t// ...\n\ts.items[key] = trim(value)\n\treturn nil\n}\n"
    assert merge_lazy(go, snippet, language="go").text == go.replace("= value", "= trim(value)")
    python = "def main():\n    run()\n    print(size)\n"
    with pytest.raises(MergeUndetermined, match="it may be new or replace line 3"):
        merge_lazy(
            python, "def main():\n    # ...\n    print(f'{size}')\n# ...\n", language="python"
        )


def test_a_file_without_its_last_block_is_not_passed_over():
    """Most of the file from its first line on: whether the rest is deleted is not said."""
    file = "".join(f"def f{n}(a):\n    return a + {n}\n\n\n" for n in range(6))
    with pytest.raises(MergeUndetermined, match="the file goes on"):
        merge_lazy(file, file[: file.index("def f5")], language="python")
