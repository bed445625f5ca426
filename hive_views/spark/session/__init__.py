"""A Spark session with views: `ViewSession`, and the steps that a statement takes in it."""
