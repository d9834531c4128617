from __future__ import annotations

from textwrap import dedent

import pytest

from apply_edit.errors import MergeUndetermined
from apply_edit.merge import merge_lazy

STACK = dedent(
    '''\
    import os


    class Stack:
        """A stack."""

        def __init__(self):
            self.items = []

        def push(self, item):
            self.items.append(item)

        def pop(self):
            return self.items.pop()

        def peek(self):
            return self.items[-1]


    def main():
        stack = Stack()
        stack.push(1)
        print(stack.pop())
    '''
)
CART = dedent(
    """\
    import { a } from "./a";

    export class Cart {
      constructor() {
        this.lines = [];
      }

      add(product, quantity) {
        const line = this.find(product);
        line.quantity += quantity;
        this.save();
      }

      clear() {
        this.lines = [];
        this.save();
      }
    }

    export function total(cart) {
      return cart.lines.reduce((sum, line) => sum + line.price, 0);
    }
    """
)


def merged(original: str, snippet: str, language: str | None = "python") -> str:
    """Merge a snippet that is written indented."""
    return merge_lazy(original, dedent(snippet), language=language).text


def refusal(original: str, snippet: str, language: str | None = "python") -> str:
    """Return the reason for which a merge is refused."""
    with pytest.raises(MergeUndetermined) as info:
        merge_lazy(original, dedent(snippet), language=language)
    assert info.value.fields["line"] >= 1
    assert info.value.message
    return info.value.fields["reason"]


def test_changed_method_between_class_markers():
    """A method shown between two markers of a class replaces the method of the same name."""
    result = merged(
        STACK,
        """\
        # ... existing code ...

        class Stack:
            # ... existing code ...

            def pop(self):
                if not self.items:
                    raise IndexError("empty")
                return self.items.pop()

            # ... existing code ...

        # ... existing code ...
        """,
    )
    new = '        if not self.items:\n            raise IndexError("empty")\n'
    assert result == STACK.replace("    def pop(self):\n", "    def pop(self):\n" + new)


def test_marker_inside_a_body_keeps_the_rest_of_the_body():
    """A marker in a function stands for the lines of the function that are not shown."""
    result = merged(
        STACK,
        """\
        def main():
            # ... existing code ...
            stack.push(1)
            stack.push(2)
            # ... existing code ...
        """,
    )
    assert result == STACK.replace("push(1)\n", "push(1)\n    stack.push(2)\n")


def test_function_without_marker_replaces_its_namesake():
    """A whole function without any marker replaces the function of that name, and nothing else."""
    result = merged(
        STACK,
        """\
        def main(argv):
            print(argv)
        """,
    )
    assert result == STACK[: STACK.index("def main")] + "def main(argv):\n    print(argv)\n"


def test_method_without_class_takes_the_indentation_of_the_file():
    """A method written at the left margin replaces the method in the class, indented as there."""
    result = merged(
        STACK,
        """\
        def push(self, item):
            self.items.append(item)
            return self
        """,
    )
    assert result == STACK.replace("append(item)\n", "append(item)\n        return self\n")


def test_new_method_before_the_next_anchor():
    """A new method between two shown ones goes between them, spaced as in the snippet."""
    result = merged(
        STACK,
        """\
        class Stack:
            # ... existing code ...

            def pop(self):
                # ... existing code ...

            def clear(self):
                self.items.clear()

            def peek(self):
                # ... existing code ...
        """,
    )
    new = "    def clear(self):\n        self.items.clear()\n\n"
    assert result == STACK.replace("    def peek", new + "    def peek")


def test_new_method_at_the_end_of_a_class():
    """A new method between a marker and the closing brace of its class goes before that brace."""
    result = merged(
        CART,
        """\
        export class Cart {
          // ... existing code ...

          size() {
            return this.lines.length;
          }
        }
        """,
        "javascript",
    )
    new = "\n  size() {\n    return this.lines.length;\n  }\n}\n\nexport"
    assert result == CART.replace("}\n\nexport function", new + " function")


def test_new_import_and_changed_function():
    """An added import and a change further down are both merged."""
    result = merged(
        STACK,
        """\
        import os
        import sys

        # ... existing code ...

        def main():
            stack = Stack()
            stack.push(sys.argv[1])
            print(stack.pop())
        """,
    )
    expected = STACK.replace("import os\n", "import os\nimport sys\n")
    assert result == expected.replace("push(1)", "push(sys.argv[1])")


def test_new_function_that_ends_like_its_neighbour():
    """Lines that a new function shares with what is around it are in the result twice."""
    original = (
        "def one():\n    a = start()\n    b = middle(a)\n    finish(b)\n    return 1\n\n\n"
        "def two():\n    return 2\n"
    )
    new = "\n\ndef copy():\n    a = other()\n    b = again(a)\n    finish(b)\n    return 1\n"
    snippet = f"# ...\n    b = middle(a)\n    finish(b)\n    return 1\n{new}    # ...\n"
    assert merged(original, snippet) == original.replace("return 1\n", "return 1\n" + new)


def test_deletion_by_adjacency():
    """Lines of the file that are missing between two neighbours of the snippet are deleted."""
    result = merged(
        STACK,
        """\
        # ... existing code ...

            def __init__(self):
                self.items = []

            def pop(self):
                return self.items.pop()

        # ... existing code ...
        """,
    )
    assert result == STACK.replace(
        "    def push(self, item):\n        self.items.append(item)\n\n", ""
    )


@pytest.mark.parametrize(
    "comment", ["# remove push", "# removed: push()", "# delete the push method"]
)
def test_removal_comment(comment):
    """A comment that asks for the removal of a method of the file removes it."""
    result = merged(
        STACK,
        f"""\
        class Stack:
            # ... existing code ...

            {comment}

            # ... existing code ...
        """,
    )
    assert result == STACK.replace(
        "    def push(self, item):\n        self.items.append(item)\n\n", ""
    )


def test_comment_that_only_sounds_like_a_removal_is_code():
    """A comment about removing something that is no definition is inserted like any line."""
    result = merged(
        STACK,
        """\
        def main():
            stack = Stack()
            # remove trailing spaces
            stack.push(1)
            # ... existing code ...
        """,
    )
    assert result == STACK.replace("= Stack()\n", "= Stack()\n    # remove trailing spaces\n")


def test_wrapping_the_rest_of_a_body():
    """A marker inside a new block moves the elided lines into the block, one level deeper."""
    result = merged(
        STACK,
        """\
        def main():
            try:
                # ... existing code ...
            except IndexError:
                print("empty")
        """,
    )
    body = "    try:\n        stack = Stack()\n        stack.push(1)\n        print(stack.pop())\n"
    end = '    except IndexError:\n        print("empty")\n'
    assert result == STACK[: STACK.index("    stack = Stack()")] + body + end


def test_wrapping_in_braces():
    """The closing brace of a new block is not taken for the closing brace of the function."""
    result = merged(
        CART,
        """\
        export function total(cart) {
          if (cart) {
            // ... existing code ...
          }
          return 0;
        }
        """,
        "javascript",
    )
    body = "  return cart.lines.reduce((sum, line) => sum + line.price, 0);\n"
    assert result == CART.replace(body, f"  if (cart) {{\n  {body}  }}\n  return 0;\n")


def test_removal_of_a_statement():
    """A comment that quotes a line of the file asks for that line to go."""
    result = merged(
        STACK,
        """\
        def main():
            stack = Stack()
            # removed: stack.push(1)
            print(stack.pop())
        """,
    )
    assert result == STACK.replace("    stack.push(1)\n", "")


def test_entry_of_an_import_block():
    """A new line between a marker and the end of its block goes to the end of the block."""
    original = 'package a\n\nimport (\n\t"fmt"\n\t"os"\n)\n\nfunc main() {\n\tf()\n}\n'
    result = merged(original, 'import (\n\t// ... existing imports ...\n\t"strings"\n)\n', "go")
    assert result == original.replace('"os"\n', '"os"\n\t"strings"\n')


def test_crlf_and_tabs_and_trailing_space_are_kept():
    """Kept lines have their bytes, and new lines the line end of the file."""
    original = "int a;  \r\nvoid f() {\r\n\tone();\t\r\n\ttwo();\r\n}\r\nint b;\r\n"
    result = merge_lazy(
        original,
        "// ... existing code ...\nvoid f() {\n\tone();\n\tand_a_half();\n\ttwo();\n}\nint b;\n",
        language="c",
    )
    assert result.text == original.replace("\ttwo", "\tand_a_half();\r\n\ttwo")
    assert result.text.count("\n") == result.text.count("\r\n")
    assert result.text.startswith("int a;  \r\n")


def test_spans_name_the_new_lines():
    """The spans are the lines of the result that the file did not have."""
    result = merge_lazy(
        "a = 1\nb = 2\nc = 3\nd = 4\n",
        "# ... existing code ...\nb = 2\nx = 9\ny = 8\nc = 3\n# ... existing code ...\n",
        language="python",
    )
    assert result.text == "a = 1\nb = 2\nx = 9\ny = 8\nc = 3\nd = 4\n"
    assert result.spans == ((2, 4),)


def test_no_final_newline_stays_so():
    """A file without a final newline has none after the merge, also with a new last line."""
    original = "def f():\n    a()\n    return 1"
    assert merged(original, "def f():\n    # ... existing code ...\n    return 2\n") == (
        "def f():\n    a()\n    return 2"
    )


def test_spaces_in_the_snippet_become_the_tabs_of_the_file():
    """A snippet indented with spaces is written with the tabs of the file."""
    original = "func f() {\n\ta()\n\tif b {\n\t\tc()\n\t}\n\td()\n}\n\nfunc g() {\n\te()\n}\n"
    snippet = "func f() {\n    a()\n    if b {\n        c()\n        x()\n    }\n    d()\n}\n"
    assert merge_lazy(original, snippet, language="go").text == original.replace(
        "\t\tc()\n", "\t\tc()\n\t\tx()\n"
    )


def test_identity_snippet_changes_nothing():
    """A snippet that shows lines as they are merges to the same bytes."""
    snippet = "# ... existing code ...\n    def peek(self):\n        return self.items[-1]\n# ...\n"
    result = merge_lazy(STACK, snippet, language="python")
    assert result.text == STACK
    assert result.spans == ()


def test_empty_file_takes_the_snippet():
    """For an empty file the snippet is the file."""
    assert merge_lazy("", "a = 1\n", language="python").text == "a = 1\n"


def test_marker_in_an_empty_file_is_refused():
    """A marker has nothing to stand for in an empty file."""
    assert refusal("", "# ... existing code ...\na = 1\n") == "no_anchor"


def test_two_equal_places_are_refused():
    """Where a snippet fits two places equally well the merge is refused as ambiguous."""
    block = "    x = load()\n    y = calc(x)\n    return y\n\n"
    original = "".join(f"def f{i}():\n{block}" for i in range(3))
    snippet = "# ... existing code ...\n    x = load()\n    log(x)\n    y = calc(x)\n# ...\n"
    assert refusal(original, snippet) == "ambiguous"


def test_the_head_of_the_block_tells_equal_places_apart():
    """The same lines under a named head go to that head's block."""
    block = "    x = load()\n    y = calc(x)\n    return y\n\n"
    original = "".join(f"def f{i}():\n{block}" for i in range(3))
    snippet = "# ...\ndef f1():\n    # ...\n    y = calc(x)\n    log(y)\n    return y\n\n# ...\n"
    head = "def f1():\n"
    new = block.replace("return", "log(y)\n    return")
    assert merged(original, snippet) == original.replace(head + block, head + new)


def test_new_code_between_markers_without_anchor_is_refused():
    """A new function between two file-level markers could go anywhere."""
    snippet = "# ... existing code ...\n\ndef fresh():\n    return 7\n\n# ... existing code ...\n"
    assert refusal(STACK, snippet) == "placement"


def test_new_code_behind_the_last_marker_is_appended():
    """A new function behind the only marker goes to the end of the file."""
    result = merged(STACK, "# ... existing code ...\n\n\ndef fresh():\n    return 7\n")
    assert result == STACK + "\n\ndef fresh():\n    return 7\n"


def test_snippet_of_another_file_is_refused():
    """A snippet that has nothing in common with the file has no place in it."""
    assert refusal(STACK, "zebra = 1\nyak = 2\n") == "no_anchor"


def test_dedented_marker_behind_a_shortened_function_is_refused():
    """Whether a last line that is not shown was deleted or elided is not guessed."""
    snippet = """\
        # ... existing code ...

        def main():
            stack = Stack()
            stack.push(1)

        # ... existing code ...
        """
    assert refusal(STACK, snippet) == "deletion_unclear"


def test_a_call_that_may_be_new_or_changed_is_refused():
    """A call next to a marker, beside a hidden call of the same function, may be either."""
    snippet = """\
        def main():
            stack = Stack()
            stack.push(2)
            # ... existing code ...
        """
    assert refusal(STACK, snippet) == "replace_or_add"


def test_large_deletion_is_refused():
    """More than a hundred lines are not deleted on the word of a missing marker."""
    lines = [f"value_{i} = {i}\n" for i in range(300)]
    snippet = "# ...\n" + "".join(lines[5:8]) + "".join(lines[280:283]) + "# ...\n"
    assert refusal("".join(lines), snippet) == "large_deletion"


def test_broken_result_is_refused():
    """A merge that parses worse than the file was aligned wrongly."""
    snippet = "# ...\n        self.items = [\n\n    def push(self, item):\n# ...\n"
    assert refusal(STACK, snippet) == "syntax"


def test_bare_ellipsis_is_code_in_a_stub():
    """In Python a bare ellipsis below a new head is its body, below a known head a marker."""
    result = merged(
        STACK,
        """\
        class Stack:
            ...

            def peek(self):
                ...

            def size(self):
                ...


        def main():
            ...
        """,
    )
    new = "\n    def size(self):\n        ...\n"
    assert result == STACK.replace("self.items[-1]\n", "self.items[-1]\n" + new)


def test_inline_marker_is_expanded():
    """A marker between the braces of one line stands for the body."""
    result = merged(
        CART,
        """\
        export class Cart {
          // ... existing code ...

          add(product, quantity, note) { /* ... existing code ... */ }

          // ... existing code ...
        }
        // ... existing code ...
        """,
        "javascript",
    )
    assert result == CART.replace("add(product, quantity)", "add(product, quantity, note)")


def test_a_marker_line_that_the_file_has_is_code():
    """A comment of the file that looks like a marker is a line like any other."""
    original = "a = 1\n# ... existing code ...\nb = 2\nc = 3\n"
    result = merged(original, "a = 1\n# ... existing code ...\nb = 4\nc = 3\n")
    assert result == original.replace("b = 2", "b = 4")


def test_one_function_of_twenty_thousand_like_it_is_found():
    """In a file of 120,000 lines the change is one line."""
    body = "    if value is None:\n        return None\n    return value\n\n"
    heads = (f"def func_{i}(a):\n    value = compute(a, {i})\n" for i in range(20_000))
    original = "".join(head + body for head in heads)
    snippet = "# ...\ndef func_9000(a):\n    # ...\n    return value + 1\n\n# ...\n"
    result = merge_lazy(original, snippet, language="python")
    assert result.spans == ((9000 * 6 + 4, 9000 * 6 + 5),)


JAVA = dedent(
    """\
    public class Foo {
        private int n;

        public Foo(int n) {
            this.n = n;
        }

        public int get() {
            return n;
        }
    }
    """
)


def test_a_constructor_is_not_its_class():
    """The closing line of the class is not that of the constructor, which has its name."""
    snippet = "public class Foo {\n    private int n;\n    private int m;\n    // ...\n}\n"
    expected = JAVA.replace("private int n;\n", "private int n;\n    private int m;\n")
    assert merge_lazy(JAVA, snippet, language="java").text == expected


def test_a_new_head_over_a_known_line_is_refused():
    """It may be the new name of the function, or a new function that begins like it."""
    snippet = (
        "# ...\nclass Stack:\n    # ...\n    def last(self):\n"
        "        return self.items[-1]\n    # ...\n"
    )
    with pytest.raises(MergeUndetermined) as caught:
        merge_lazy(STACK, snippet, language="python")
    assert caught.value.fields["reason"] == "replace_or_add"


def test_functions_in_another_order_are_refused():
    """An alignment that would write one of them twice is not trusted."""
    snippet = (
        "# ...\nclass Stack:\n    # ...\n    def peek(self):\n        return self.items[-1]\n\n"
        "    def pop(self):\n        return self.items.pop()\n# ...\n"
    )
    with pytest.raises(MergeUndetermined):
        merge_lazy(STACK, snippet, language="python")


def test_a_new_function_that_ends_like_the_one_before_goes_between():
    """The line that closes the new function is not the one that closes the function before."""
    text = "func a() int {\n\treturn 1\n}\n\nfunc main() {\n\ta()\n}\n"
    new = "func b() int {\n\treturn 2\n}\n\n"
    snippet = f"// ...\n\n{new}func main() {{\n\t// ...\n}}\n"
    expected = text.replace("func main", new + "func main")
    assert merge_lazy(text, snippet, language="go").text == expected


def test_wrapped_lines_take_their_closing_lines_along():
    """The closing line of the last wrapped block is not that of the new block."""
    text = "function f() {\n  a();\n  if (b) {\n    c();\n  }\n}\n"
    snippet = "function f() {\n  try {\n    // ...\n  } catch (e) {\n    log(e);\n  }\n}\n"
    assert merge_lazy(text, snippet, language="javascript").text == (
        "function f() {\n  try {\n    a();\n    if (b) {\n      c();\n    }\n"
        "  } catch (e) {\n    log(e);\n  }\n}\n"
    )


@pytest.mark.parametrize(
    ("text", "snippet", "expected"),
    [
        (
            "func f() {\n\ta()\n\tb()\n}\n",
            "func f() {\n    a()\n    if x {\n        c()\n    }\n    b()\n}\n",
            "func f() {\n\ta()\n\tif x {\n\t\tc()\n\t}\n\tb()\n}\n",
        ),
        (
            "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 3\n",
            "class A:\n  # ...\n  def f(self):\n    return 2\n  # ...\n",
            "class A:\n    def f(self):\n        return 2\n\n    def g(self):\n        return 3\n",
        ),
    ],
)
def test_another_style_of_indentation_is_translated(text, snippet, expected):
    """Spaces become the file's tabs, two columns a level its four."""
    language = "go" if text.startswith("func") else "python"
    assert merge_lazy(text, snippet, language=language).text == expected


def test_a_field_of_the_same_name_is_replaced_where_names_come_first():
    """In Go and SQL a field with another type is the new form of the field of its name."""
    text = "type S struct {\n\tA string\n\tPort int\n}\n"
    snippet = "type S struct {\n\t// ...\n\tPort string\n}\n"
    assert merge_lazy(text, snippet, language="go").text == text.replace("int", "string")


def test_a_paragraph_beside_a_hidden_one_is_refused():
    """Whether a new paragraph of a document replaces the next one is not said."""
    text = "# T\n\n## Use\n\nCall it.\n\n## End\n\nBye.\n"
    snippet = "<!-- ... -->\n## Use\n\nWrite a letter to it.\n\n<!-- ... -->\n"
    with pytest.raises(MergeUndetermined):
        merge_lazy(text, snippet, language="markdown")


def test_new_entries_stand_directly_behind_the_entries_before():
    """A gap behind the new entry of a section does not open one in front of it."""
    text = "[a]\nx = 1\n\n[b]\ny = 2\n"
    snippet = "[a]\n# ...\nz = 3\n\n[b]\n# ...\n"
    assert merge_lazy(text, snippet, language="toml").text == "[a]\nx = 1\nz = 3\n\n[b]\ny = 2\n"


def test_python_itself_must_be_able_to_read_the_result():
    """A head without a body passes the grammar and is refused all the same."""
    text = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
    with pytest.raises(MergeUndetermined) as caught:
        merge_lazy(text, "def f():\n\n\ndef g():\n    # ...\n", language="python")
    assert caught.value.fields["reason"] == "syntax"


def test_a_new_definition_gets_the_usual_gap_where_the_snippet_has_none():
    """A marker right above or below a definition hides the blank lines too."""
    text = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
    new = "def h():\n    return 3\n"
    assert merge_lazy(text, f"# ...\n{new}", language="python").text == f"{text}\n\n{new}"


@pytest.mark.parametrize(
    ("language", "first", "hidden", "new"),
    [
        ("rust", "mod alpha;", "mod beta;", "mod betas;"),
        ("java", "void runA();", "void runB();", "void runC();"),
        ("python", '    "alpha",', '    "beta",', '    "betas",'),
        ("typescript", "export * from './a';", "export * from './b';", "export * from './c';"),
        ("yaml", "- name: alpha", "- name: gamma", "- name: gammas"),
        ("bash", "echo alpha", "echo beta", "echo delta"),
    ],
)
def test_entries_with_other_names_stand_side_by_side(language, first, hidden, new):
    """A new entry does not take the place of a hidden one that looks like it."""
    head, tail = ("X = [\n", "]\n") if language == "python" else ("", "")
    sign = "#" if language in ("python", "yaml", "bash") else "//"
    text = f"{head}{first}\n{hidden}\n{tail}"
    snippet = f"{head}{first}\n{new}\n{sign} ...\n{tail}"
    merged = merge_lazy(text, snippet, language=language).text
    assert merged == f"{head}{first}\n{new}\n{hidden}\n{tail}"


def test_a_block_in_full_leaves_its_hidden_else_alone():
    """A marker at the depth of an ``if`` stands for the ``else`` behind it."""
    text = "def f(x):\n    if x:\n        a()\n    else:\n        b()\n    return 1\n"
    snippet = "def f(x):\n    if x:\n        log(x)\n    # ...\n"
    assert merge_lazy(text, snippet, language="python").text == text.replace("a()", "log(x)")


def test_a_brace_below_its_head_opens_the_heads_block():
    """Methods are told apart although their braces stand on lines of their own."""
    text = (
        "class A\n{\n    int F()\n    {\n        return 1;\n    }\n\n    int G()\n    {\n"
        "        return 1;\n    }\n}\n"
    )
    snippet = "// ...\n    int G()\n    {\n        return 2;\n    }\n// ...\n"
    expected = text[: text.index("int G")] + text[text.index("int G") :].replace("1", "2")
    assert merge_lazy(text, snippet, language="csharp").text == expected
    new = "    int H()\n    {\n        return 3;\n    }\n"
    snippet = f"class A\n{{\n    // ...\n\n{new}}}\n"
    assert merge_lazy(text, snippet, language="csharp").text == f"{text[:-2]}\n{new}}}\n"


def test_a_line_that_leaves_its_block_is_not_another_style():
    """Taking an ``if`` away moves its line; the line must not be moved back."""
    text = "func f() {\n\tif a {\n\t\tx()\n\t}\n\tz()\n}\n\nfunc g() {\n\ty()\n}\n"
    snippet = "func f() {\n    x()\n    z()\n}\n\n// ...\n"
    try:
        merged = merge_lazy(text, snippet, language="go").text
    except MergeUndetermined:
        return
    assert "\t\tx()" not in merged


def test_a_comment_with_other_words_removes_nothing():
    """A comment that says what code does may name a definition of the file."""
    text = "def cache():\n    return 1\n\n\ndef go():\n    return 2\n"
    snippet = "# ...\ndef go():\n    # remove cache from the list\n    return 2\n"
    expected = text.replace("    return 2", "    # remove cache from the list\n    return 2")
    assert merge_lazy(text, snippet, language="python").text == expected


def test_a_removal_that_is_not_plain_is_refused():
    """The name is there twice, or the comment may be about the statement below it."""
    text = "def a():\n    return 1\n\n\ndef go():\n    return 2\n"
    for file, snippet in (
        (text + "\n\ndef a():\n    return 3\n", "# ...\n# remove a\n# ...\n"),
        (text, "# ...\ndef go():\n    # remove a\n    return 2\n"),
    ):
        with pytest.raises(MergeUndetermined):
            merge_lazy(file, snippet, language="python")


def test_one_space_is_no_level():
    """New text that is aligned by one space keeps it in a file of tabs."""
    text = "/*\n * a\n * b\n */\nint f() {\n\treturn 1;\n}\n"
    snippet = "/*\n * a\n new\n * b\n */\n// ...\n"
    assert merge_lazy(text, snippet, language="c").text == text.replace(" * b", " new\n * b")


def test_a_new_class_that_ends_like_the_one_before_goes_between():
    """A last line at another depth, of the class before, is not that of the new class."""
    text = "class A:\n    def f(self):\n        pass\n\n\ndef g():\n    return 1\n"
    new = "class B:\n    pass\n\n\n"
    snippet = f"# ...\n\n\n{new}def g():\n    # ...\n"
    expected = text.replace("def g", new + "def g")
    assert merge_lazy(text, snippet, language="python").text == expected


def test_a_getter_is_not_the_setter_of_its_name():
    """Accessors share their name, and are told apart by their kind."""
    text = "class K {\n  get v() {\n    return 1;\n  }\n\n  set v(n) {\n    this.n = n;\n  }\n}\n"
    snippet = "// ...\n  get v() {\n    return 2;\n  }\n// ...\n"
    expected = text.replace("return 1", "return 2")
    assert merge_lazy(text, snippet, language="javascript").text == expected
    snippet = "class K extends P {\n  // ...\n}\n"
    expected = text.replace("class K", "class K extends P")
    assert merge_lazy(text, snippet, language="javascript").text == expected


def test_a_last_line_replaces_the_one_at_its_depth():
    """Deeper lines that look alike do not make it a new line."""
    text = "def o():\n    def a():\n        return 1\n\n    return a, 2\n"
    snippet = "def o():\n    # ...\n    return a\n"
    assert merge_lazy(text, snippet, language="python").text == text.replace("a, 2", "a")
