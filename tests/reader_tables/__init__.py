"""What Hive and Spark return for the same expressions over the same files: the table of answers, generated."""
