# Two commands for a new machine: `make demo` and `make test`. Everything lands in .venv and .cache beside this file.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The tests start hundreds of Python processes, each of which would compile the package again.
unexport PYTHONDONTWRITEBYTECODE
THRIFT_OUT := hive_views/metastore/_thrift

.PHONY: env docs reader-tables dist test-dist test-versions test-versions-sample test-versions-turn test-spark test-sqlglot test-programs test-tools release test test-all system-packages test-atomicity test-docker test-faults test-trino test-hive test-sql-random test-upgrade estate check lint demo bench thrift clean histories loss soak

env: $(STAMP)

$(STAMP): setup.cfg setup.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip setuptools wheel
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $(STAMP)

# The short suite, aim: at most 10 minutes on 2 cores: style, types, layers, unit tests, integration tests on one embedded
# metastore and one Spark session, a sample of the fault matrix. One process has Spark; the others, and it afterwards, take
# one directory after the other (tests/suites.py).
test: env check
	$(BIN)/python -m pytest --numprocesses 3 -m "not extended" --durations 15 $(PYTEST_ARGS)

# The extended suite, aim: at most 40 minutes: long histories, matrices, other servers and databases, browsers, Kerberos,
# Spark without Iceberg.
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

# Hive's own driver and HiveServer2 on a metastore of Hive 4.1 (docs/compatibility.md); the first run downloads 320 MB.
test-hive: env
	$(BIN)/python -m tests.integration.hive.server
	HIVE_VIEWS_TEST_HIVE=1 $(BIN)/python -m pytest tests/integration/hive --durations 5 $(PYTEST_ARGS)

# What Hive and Spark answer to the same expressions (hive_views/sql/engines/data/answers.json); an interrupted run continues.
reader-tables: env
	$(BIN)/python -m tests.integration.hive.reader
	$(BIN)/python -m tests.reader_tables measure alone write

# A real Trino on the embedded metastore (docs/trino.md); the first run downloads 630 MB.
test-trino: env
	$(BIN)/python -m tests.integration.trino.server
	HIVE_VIEWS_TEST_TRINO=1 $(BIN)/python -m pytest tests/integration/trino --durations 5 $(PYTEST_ARGS)

# Rebuilds the estate that `tests/estate` loads, with Hive, Spark, Iceberg, PyIceberg and Trino, and the rows of Hive 2.3 and
# 3.1, and shows what changed; then its answers are recorded with HIVE_VIEWS_RECORD_ANSWERS=1 pytest tests/estate, and
# `python -m tests.estate report` writes docs/estate.md. The first run downloads 900 MB and the JARs of Hive 3.1.
# `python -m tests.estate extend` only adds new definitions.
estate: env
	$(BIN)/python -m tests.integration.hive.reader
	$(BIN)/python -m tests.integration.trino.server
	$(BIN)/python -m tests.estate build
	$(BIN)/python -m tests.estate.old_hive 2.3.10
	$(BIN)/python -m tests.estate.old_hive 3.1.3

# Each wire call of all that the catalog does with each fault, on the server that HIVE_VIEWS_TEST_SERVER names (`test`
# has a choice); writes docs/servers.md.
test-faults: env
	$(BIN)/python -m tests.integration.matrix.faults
	HIVE_VIEWS_WHOLE_FAULTS=1 HIVE_VIEWS_TEST_SERVERS=$${HIVE_VIEWS_TEST_SERVERS:-4.2.0/postgresql,4.1.0/mysql} \
	   $(BIN)/python -m pytest tests/faults/test_database_commits.py tests/faults/test_lagging_servers.py \
	   tests/faults/test_partial_completion.py $(PYTEST_ARGS)

# Updates lost on each server by the catalog's ways to commit, which fails where one is; writes docs/servers.md.
test-atomicity: env
	$(BIN)/python -m tests.integration.matrix.atomicity

# Random statements against Spark, and against Hive where ORACLE is the command that starts it (tests/unit/sql/hive_oracle.py);
# COUNT statements each.
test-sql-random: env
	$(BIN)/python -m tests.unit.sql.random_check spark $${COUNT:-20000}
	[ -z "$$ORACLE" ] || $(BIN)/python -m tests.unit.sql.random_check hive $${COUNT:-20000}

check: env lint
	$(BIN)/mypy
	$(BIN)/lint-imports
	mkdir -p build
	$(BIN)/python -m pytest --collect-only --quiet --no-header >build/collected.txt || { tail -n 40 build/collected.txt; false; }

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The full number of random histories of materialized views: 500 a kind, half an hour each; over each other and on Spark, too.
histories: env
	HIVE_VIEWS_NEW_EXAMPLES=1 HIVE_VIEWS_HISTORIES=500 $(BIN)/python -m pytest tests/integration/materialized/test_histories.py \
	   tests/integration/materialized/test_nested_histories.py tests/integration/spark/test_key_histories.py $(PYTEST_ARGS)

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

# The documentation site in build/site (docs/, mkdocs.yml), with checked links and lists. In an environment of its own.
# With --quiet, mkdocs would ignore its warnings, also in strict mode.
docs: build/docs/.installed
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. build/docs/bin/mkdocs build

build/docs/.installed: setup.cfg
	$(PYTHON) -m venv build/docs
	build/docs/bin/pip install --quiet --disable-pip-version-check --editable '.[docs,arrow,upgrade]'
	touch $@

# The source distribution, and the wheel built from it, in dist/.
dist: build/release/.installed
	rm -rf dist
	build/release/bin/python -m build --outdir dist .
	build/release/bin/twine check --strict dist/*

build/release/.installed:
	$(PYTHON) -m venv build/release
	build/release/bin/pip install --quiet --disable-pip-version-check 'build>=1.2' 'twine>=6'
	touch $@

# Installs the wheel in empty environments, with the newest and with the oldest dependencies that setup.cfg allows, and
# runs the command line and a quick test there.
test-dist: dist
	@oldest=$$(sed -n '/^install_requires/,/^$$/s/^ *\([a-z]*\)\(\[c\]\)\{0,1\}>=\([0-9.]*\).*/\1\2==\3/p' setup.cfg) && \
	for versions in '' "$$oldest click<8.2"; do \
	   $(PYTHON) -m venv --clear build/installed && \
	   build/installed/bin/pip install --quiet --disable-pip-version-check dist/*.whl $$versions && \
	   (cd build && installed/bin/python -I ../tests/installation.py) || exit 1; \
	done

# Builds, checks and tags the version in hive_views/__init__.py. Uploads and pushes nothing (CONTRIBUTING.md).
release: test-dist
	version=$$(build/installed/bin/python -I -c 'import hive_views; print(hive_views.__version__)') && \
	test -z "$$(git status --porcelain)" || { echo "commit your changes first"; exit 1; } && \
	grep -q "^## \[$$version\]" CHANGELOG.md || { echo "CHANGELOG.md has no section for $$version"; exit 1; } && \
	git tag --annotate "v$$version" --message "hive_views $$version" && ls dist

# The tests that a combination of versions can change, on each combination (tests/versions), in environments of their own:
# hours. Writes tests/versions/results.json and the tables of docs/compatibility.md; continues where it was interrupted.
# NAMES selects some, such as NAMES='spark-4.3-* python-*'.
test-versions: env
	$(BIN)/python -m tests.versions run $(NAMES)

test-spark: env
	$(BIN)/python -m tests.versions run 'spark-*'

test-sqlglot: env
	$(BIN)/python -m tests.versions run 'sqlglot-*'

# What `.ci/run` runs of it at each landing: a sample on each version of Spark and the short unit tests on the oldest and the
# newest Python, and one whole combination in turn. OPTIONS=--remove-environments keeps the disk free.
test-versions-sample: env
	$(BIN)/python -m tests.versions sample $(OPTIONS)

test-versions-turn: env
	$(BIN)/python -m tests.versions turn $(OPTIONS)

# dbt and Airflow in environments of their own, on views of a ViewSession (docs/how-to/spark-programs.md).
test-programs: env
	$(PYTHON) -m venv build/programs/dbt && build/programs/dbt/bin/pip install --quiet '.[spark]' 'dbt-core==1.10.*' 'dbt-spark==1.10.*'
	$(PYTHON) -m venv build/programs/airflow && build/programs/airflow/bin/pip install --quiet apache-airflow-providers-apache-spark==6.3.4
	$(BIN)/python -m pytest tests/integration/spark/test_programs.py $(PYTEST_ARGS)

# dbt, sqlmesh, Great Expectations and Airflow, each in one environment with the wheel of this package.
test-tools: env dist
	HIVE_VIEWS_TEST_TOOLS=1 $(BIN)/python -m pytest tests/versions/test_tools.py $(PYTEST_ARGS)

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
