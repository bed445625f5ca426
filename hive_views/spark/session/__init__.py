"""A Spark session with views: `ViewSession`, and the modules that process its statements."""
