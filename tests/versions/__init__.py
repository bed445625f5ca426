"""The tests on each combination of versions that the package supports: `make test-versions`."""
