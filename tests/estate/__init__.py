"""An estate as users have it: every kind of object that Hive, Spark, Iceberg and Trino write, and every command.

`python -m tests.estate build` builds it with these programs; tests load the recorded copy (`copy.py`).
"""
