"""`python -m hive_views`: the command line."""

from hive_views.cli.app import run

if __name__ == "__main__":
    run()
