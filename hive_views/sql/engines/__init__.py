"""Facts about engines as data, with the version that was asked."""
