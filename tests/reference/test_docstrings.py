"""The worked examples of the reference are true."""

import doctest
import importlib
import pkgutil

import pytest

import apply_edit.reference as package
from apply_edit.lab import distance

MODULES = [f"{package.__name__}.{found.name}" for found in pkgutil.iter_modules(package.__path__)]


@pytest.mark.parametrize("name", [*MODULES, distance.__name__])
def test_examples_in_docstrings_run(name):
    """Every example prints what it says."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_package_exports_what_it_lists():
    """The public names are there, each once, in order."""
    assert package.__all__ == sorted(set(package.__all__))
    assert all(hasattr(package, name) for name in package.__all__)
