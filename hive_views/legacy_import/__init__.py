"""Legacy views, of Hive, Spark and Trino: planned, converted to Iceberg views, reported, reverted, exported."""
