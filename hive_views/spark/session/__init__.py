"""`ViewSession` and what it consists of."""
