"""The import of legacy views on Spark."""
