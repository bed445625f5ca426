"""SQL as text: tokens with their positions, Spark's lexer, quoting, edits. Imports nothing of the other packages."""
