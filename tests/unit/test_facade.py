import subprocess
import sys

import pytest

import apply_edit


def test_every_public_name_is_there():
    """Each name of __all__ can be fetched, and dir lists exactly these."""
    for name in apply_edit.__all__:
        assert getattr(apply_edit, name) is not None
    assert dir(apply_edit) == sorted(apply_edit.__all__)


def test_an_unknown_name_is_an_attribute_error():
    """A misspelt name fails like on any module."""
    with pytest.raises(AttributeError, match="aply"):
        _ = apply_edit.aply


def test_importing_loads_no_dependency():
    """`import apply_edit` loads none of the libraries that it needs later."""
    code = (
        "import sys, apply_edit\n"
        "print({'torch', 'transformers', 'numpy', 'rapidfuzz', 'tree_sitter'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"set()"


def test_applying_without_a_model_loads_no_torch():
    """A direct apply never imports the model libraries."""
    code = (
        "import sys, apply_edit\n"
        'apply_edit.apply(\'a\\n\', \'{"old_str": "a", "new_str": "b"}\')\n'
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"set()"
