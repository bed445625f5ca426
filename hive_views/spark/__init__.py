"""Views on Spark: sessions, and column types from Spark's analyzer."""
