"""The emulation of Hive itself: exactly the texts that Hive 4.1 stores, and the texts that it rejects.

`mode.HIVE_EXACT` is the entry; the resolver uses `planner_names` for every text in Hive's dialect.
"""
