# qbcd: `make demo` and `make test` need nothing prepared by hand; `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FLOOR := .venv-floor
SITE := .venv-docs
STAMP := $(VENV)/.installed
CODE := qbcd tests $(wildcard examples benchmarks tools)
JAVA := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)
# Programs without a service, what the first one's script needs, and the JDBC driver.
MARIADB := mariadb-server-core mariadb-client-core libmariadb-java
# Processes that share the tests' files out among them, each with servers and a Spark session of its own. Three keep two
# cores busy, since a test often waits for a server.
TEST_PROCESSES ?= 3
# The commit from which files count as changed for `make lint`: origin/main, or the last commit's parent, without it.
BASE ?=
# Which part of the campaign, by its name in tests/campaign/parts.py, or files and options of pytest; all of it without.
PART ?=
CAMPAIGN ?=
# Options of the report: --commit ID, --each-commit, --print.
REPORT ?=
# Sets as_root to what runs apt-get with root's rights and this account's proxies, or to none where that may not be.
PROXIES := $(foreach name,http_proxy https_proxy no_proxy,$${$(name):+$(name)=$$$(name)})
AS_ROOT = if [ "$$(id -u)" = 0 ]; then as_root=env; \
    elif sudo -n true 2>/dev/null; then as_root="sudo -n env $(PROXIES)"; else as_root=none; fi; \
    command -v apt-get >/dev/null || as_root=none
INSTALL := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends

.DEFAULT_GOAL := help
.PHONY: help venv java mariadb mysql demo test campaign campaign-report floor docs lint fmt clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## create .venv with qbcd and all that the demo and the tests need

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	    { echo "qbcd needs Python 3.10 or newer: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 1; }
	@able() { $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; }; \
	able && exit 0; $(AS_ROOT); \
	named=$$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2] if sys.prefix == "/usr" else "")'); \
	if [ -n "$$named" ] && [ "$$as_root" != none ]; then \
	    $$as_root apt-get update -qq || true; \
	    for package in $$named python3-venv; do \
	        $$as_root $(INSTALL) $$package >&2; \
	        able && exit 0; \
	    done; \
	fi; \
	echo "$(PYTHON) cannot create virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo,dev]'
	@touch $@

java: ## install Java 17 or newer where it is missing and this account may
	@new_enough() { "$(JAVA)" -version 2>&1 | awk -F '"' '/version/ {split($$2, v, "."); found = v[1] >= 17} END {exit !found}'; }; \
	new_enough && exit 0; $(AS_ROOT); \
	if [ -z "$$JAVA_HOME" ] && [ "$$as_root" != none ]; then \
	    $$as_root apt-get update -qq || true; \
	    for package in default-jre-headless openjdk-21-jre-headless openjdk-17-jre-headless; do \
	        $$as_root $(INSTALL) $$package >&2; \
	        new_enough && exit 0; \
	    done; \
	fi; \
	echo "Spark needs Java 17 or newer: install a JRE (Debian: openjdk-17-jre-headless) or set JAVA_HOME" >&2; exit 1

mariadb: ## install MariaDB's programs and driver for the tests where they are missing and this account may
	@server() { [ -n "$$QBCD_TEST_MARIADB_BIN" ] || { PATH="$$PATH:/usr/sbin:/usr/bin" && \
	    command -v mariadbd && command -v mariadb-install-db && command -v my_print_defaults; } >/dev/null; }; \
	server && ls /usr/share/java/mariadb-java-client*.jar >/dev/null 2>&1 && exit 0; $(AS_ROOT); \
	if [ "$$as_root" != none ]; then \
	    $$as_root apt-get update -qq || true; \
	    $$as_root $(INSTALL) --no-remove $(MARIADB) >&2; \
	fi; \
	server || echo "MariaDB's tests will be skipped: install $(MARIADB), or name its folder in QBCD_TEST_MARIADB_BIN" >&2

mysql: venv ## unpack MySQL for the tests into the user's cache, where this is Debian and it is missing there
	@[ -n "$$QBCD_TEST_MYSQL_URL$$QBCD_TEST_MYSQL_BIN" ] || $(BIN)/python -m tools.fetch_server mysql >/dev/null || \
	    echo "MySQL's tests will be skipped: name the folder of mysqld in QBCD_TEST_MYSQL_BIN, or a server in QBCD_TEST_MYSQL_URL" >&2

demo: venv java ## poll real flights in an embedded PostgreSQL and show what was found
	@$(BIN)/qbcd demo

test: venv java mariadb mysql ## run the tests, but for the campaign
	@$(BIN)/python -m pytest -n $(TEST_PROCESSES) --durations=10

campaign: venv java mariadb mysql ## run the tests that take minutes: all, or a part (make campaign PART=kill_mysql)
	$(BIN)/python -m pytest -m campaign -n $(TEST_PROCESSES) --durations=10 $(if $(PART),--part $(PART)) $(CAMPAIGN)

campaign-report: venv ## write the results of the campaign's runs on one commit into tests/campaign/README.md
	$(BIN)/python -m tools.campaign_report $(REPORT)

floor: java mariadb mysql ## run the tests with the oldest versions that pyproject.toml allows
	$(PYTHON) -m venv --clear $(FLOOR)
	grep -oE '"[A-Za-z0-9_-]+(\[[a-z,-]+\])?>=[0-9.]+"' pyproject.toml | \
	    sed -E 's/"([A-Za-z0-9_-]+)(\[.*\])?>=(.*)"/\1==\3/' > $(FLOOR)/oldest.txt
	$(FLOOR)/bin/python -m pip install --quiet --disable-pip-version-check \
	    --constraint $(FLOOR)/oldest.txt --editable '.[demo,dev]'
	$(FLOOR)/bin/python -m pytest -n $(TEST_PROCESSES)
	$(FLOOR)/bin/python -m pytest -n 0 -m campaign tests/integration/spark_source

docs: ## build the documentation's site into build/site; a broken link is an error
	@test -x $(SITE)/bin/zensical || { $(PYTHON) -m venv $(SITE) && \
	    $(SITE)/bin/python -m pip install --quiet --disable-pip-version-check 'zensical>=0.0.73,<0.2'; }
	$(PYTHON) -m tools.stage_docs build/docs
	$(SITE)/bin/zensical build --strict --clean

lint: venv ## check style, types, layers, structure and spelling
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.check_structure $(if $(BASE),--base $(BASE))
	$(BIN)/codespell --builtin clear,rare,en-GB_to_en-US qbcd docs tools $(wildcard *.md) Makefile pyproject.toml
	$(BIN)/codespell --dictionary tools/old_words.txt --ignore-regex '`[^`]*`' $(CODE) docs docker $(wildcard *.md)

fmt: venv ## format the code and fix what ruff can
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

clean: ## remove the virtual environment, caches and build results
	rm -rf $(VENV) $(FLOOR) $(SITE) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find qbcd tests -name __pycache__ -type d -prune -exec rm -rf {} +
