# Two commands for a new machine: `make demo` and `make test`. Everything lands in .venv and .cache beside this file.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
THRIFT_OUT := hive_views/metastore/_thrift

.PHONY: env test test-all system-packages test-atomicity test-docker test-faults test-matrix test-trino test-upgrade check lint demo bench thrift clean histories loss soak

env: $(STAMP)

$(STAMP): setup.cfg setup.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip setuptools wheel
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $(STAMP)

# The short suite, at most 10 minutes on 2 cores: style, types, layers, unit tests, integration tests on one embedded
# metastore and one Spark session, a sample of the fault matrix. Spark runs in one process, the rest in two (tests/suites.py).
test: env check
	$(BIN)/python -m pytest --numprocesses 3 -m "not extended" --durations 15 $(PYTEST_ARGS)

# The extended suite, at most 40 minutes: long histories, matrices, other servers and databases, browsers, Kerberos.
# With `make test` it is the whole.
test-all: env
	$(BIN)/python -m pytest --numprocesses 3 -m extended --durations 25 $(PYTEST_ARGS)

# What the extended suite needs from the system; as root (or with sudo) on Debian.
system-packages:
	.ci/system-packages

# The upgrade of metastores' databases in every combination of start state, database and server (`test-all` runs a selection).
test-upgrade: env
	HIVE_VIEWS_WHOLE_UPGRADE=1 $(BIN)/python -m pytest tests/integration/schema_upgrade $(PYTEST_ARGS)

# Metastores, databases and Spark in containers (docs/docker.md); as root on Debian it gets an engine where there is none.
test-docker: env
	docker/engine up
	docker/build
	HIVE_VIEWS_REQUIRE_DOCKER=1 $(BIN)/python -m pytest tests/integration/docker $(PYTEST_ARGS)

# A real Trino on the embedded metastore (docs/trino.md); the first run downloads 630 MB.
test-trino: env
	$(BIN)/python -m tests.integration.trino.server
	HIVE_VIEWS_TEST_TRINO=1 $(BIN)/python -m pytest tests/integration/trino --durations 5 $(PYTEST_ARGS)

# Each wire call of all that the catalog does with each fault, on the server that HIVE_VIEWS_TEST_SERVER names (`test`
# has a choice); writes docs/servers.md.
test-faults: env
	$(BIN)/python -m tests.integration.matrix.faults
	HIVE_VIEWS_WHOLE_FAULTS=1 $(BIN)/python -m pytest tests/faults/test_database_commits.py $(PYTEST_ARGS)

# Updates lost on each server by the catalog's ways to commit, which fails where one is; writes docs/servers.md.
test-atomicity: env
	$(BIN)/python -m tests.integration.matrix.atomicity

# The tests of the catalog on every release and database, two hours and a half; writes docs/servers.md.
test-matrix: env
	HIVE_VIEWS_EVERY_RELEASE=1 $(BIN)/python -m pytest tests/integration/metastore/test_standalone.py
	$(BIN)/python -m tests.integration.matrix

check: env lint
	$(BIN)/mypy
	$(BIN)/lint-imports

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The full number of random histories of materialized views: 500 a kind, half an hour each; over each other and on Spark, too.
histories: env
	HIVE_VIEWS_HISTORIES=500 $(BIN)/python -m pytest tests/integration/materialized/test_histories.py \
	   tests/integration/materialized/test_nested_histories.py tests/integration/spark/test_refresh_histories.py $(PYTEST_ARGS)

# Writers with and without locks that are killed, while the metastore and its database are killed and paused, for 20
# minutes on each of three servers (docs/soak.md); the counts go to build/loss.jsonl.
loss: env
	mkdir -p build
	for server in "" 4.2.0/postgresql 4.2.0/mysql; do \
	   HIVE_VIEWS_LOSS_SECONDS=$${HIVE_VIEWS_LOSS_SECONDS:-1200} HIVE_VIEWS_LOSS_SERVER=$$server \
	   HIVE_VIEWS_LOSS_REPORT=build/loss.jsonl \
	   $(BIN)/python -m pytest -s tests/faults/test_loss.py $(PYTEST_ARGS) || exit 1; done

# Sixteen clients and a fault every few seconds, for half an hour (docs/soak.md); the figures go to build/soak.md.
soak: env
	mkdir -p build
	HIVE_VIEWS_SOAK_MINUTES=$${HIVE_VIEWS_SOAK_MINUTES:-30} HIVE_VIEWS_SOAK_REPORT=build/soak.md \
	   $(BIN)/python -m pytest tests/soak $(PYTEST_ARGS)

demo: env
	$(BIN)/python -m examples.demo

bench: env
	$(BIN)/python -m benchmarks

# Regenerates the committed stubs. Needs the Thrift compiler (Debian: thrift-compiler, 0.17 made the committed ones).
thrift:
	rm -rf build/thrift && mkdir -p build/thrift
	thrift -out build/thrift --gen py:slots,package_prefix=hive_views.metastore._thrift. thrift_idl/hive_metastore.thrift
	rm -rf $(THRIFT_OUT)/hive_metastore && mkdir -p $(THRIFT_OUT)/hive_metastore
	cp build/thrift/hive_metastore/__init__.py build/thrift/hive_metastore/ttypes.py \
	   build/thrift/hive_metastore/constants.py build/thrift/hive_metastore/ThriftHiveMetastore.py $(THRIFT_OUT)/hive_metastore/
	touch $(THRIFT_OUT)/__init__.py

clean:
	rm -rf build .mypy_cache .ruff_cache .pytest_cache .demo
