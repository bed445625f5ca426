"""The mode `hive-exact`: creates exactly the texts that Hive 4.1 stores, and rejects the texts that it rejects.

The entry point is `mode.HIVE_EXACT`. The resolver also uses `planner_names` for every other text in Hive's dialect.
"""
