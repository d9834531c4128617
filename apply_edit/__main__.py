"""``python -m apply_edit`` is the command line."""

from apply_edit.cli import main

if __name__ == "__main__":
    main()
