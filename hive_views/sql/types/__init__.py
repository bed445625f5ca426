"""Types of SQL expressions: inference by Hive's rules, type texts."""
