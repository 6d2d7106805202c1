# The commands of ccreport. Each sets up .venv first where that is still to do: only Python, make and git are needed.

PYTHON ?= python3
CORES ?= 8
ARCHIVE ?=
CAMPAIGN ?=
CLOCK ?=
KERNEL ?=
ALGORITHM ?= bbr
BLOCKS ?=
ARGS ?=
TARGET ?= report
VERBOSE ?=
VERSION ?=
QUARTO_SECONDS ?= 600
# Of each of 24 readers, two at a time: an hour in all, as before a release.
SECONDS ?= 300

# A misspelt one would be passed over: make report ARCHVE=path.
KNOWN := $(shell sed -n 's/^\([A-Z_]*\) ?=.*/\1/p' Makefile)
UNKNOWN := $(foreach name,$(filter-out $(KNOWN) -%,$(.VARIABLES)),$(if $(filter command,$(origin $(name))),$(name)))
$(if $(strip $(UNKNOWN)),$(error no such setting: $(strip $(UNKNOWN)); the settings are $(KNOWN). \
  Keys of config.yaml: snakemake --cores $(CORES) $(MAKECMDGOALS) --config key=value))
$(foreach name,ARCHIVE VERSION,$(if $(and $(filter command%,$(origin $(name))),$(if $(value $(name)),,empty)),$(error \
  $(name) is empty; name one)))
# Neither a target nor a file; make itself would not say which targets there are.
TARGETS := $(shell sed -n 's/^\.PHONY: //p' Makefile)
STRANGE := $(foreach name,$(filter-out $(TARGETS) .venv/%,$(MAKECMDGOALS)),$(if $(wildcard $(name)),,$(name)))
NEAR = $(shell "$(PYTHON)" -c 'import difflib, sys; print(*difflib.get_close_matches(sys.argv[1], sys.argv[2:], 1))' \
  '$(subst ','\'',$(firstword $(STRANGE)))' $(TARGETS) 2>/dev/null)
$(if $(strip $(STRANGE)),$(error no such target: $(strip $(STRANGE))$(if $(NEAR),; did you mean `make $(NEAR)`?,;) `make help` \
  lists all))
COMMA := ,
# Of the commands only these read an archive, and which one else it was would not be said.
$(if $(and $(filter command%,$(origin ARCHIVE)),$(filter-out report tables ingest database publish browser pictures,\
  $(MAKECMDGOALS))),$(error ARCHIVE is for report, tables, ingest, database and publish; `snakemake --config archive=PATH` \
  takes it for other targets$(if $(filter collect,$(MAKECMDGOALS)),$(COMMA) and collect_into=FOLDER is where a sweep goes)))
# Likewise what one command alone reads.
ONLY_FOR = $(if $(and $(filter command%,$(origin $(1))),$(filter-out $(2),$(MAKECMDGOALS))),$(error $(1) is for: make $(2)))
$(foreach name,CAMPAIGN CLOCK,$(call ONLY_FOR,$(name),collect))
$(call ONLY_FOR,VERSION,publish)
$(call ONLY_FOR,ALGORITHM,scorecard)
$(call ONLY_FOR,TARGET,cluster)
$(call ONLY_FOR,ARGS,test test-slow test-all browser scorecard lock fuzz audit)
# A number, or all that the machine has: what is left of it without digits.
DIGITLESS := $(subst 0,,$(subst 1,,$(subst 2,,$(subst 3,,$(subst 4,,$(value CORES))))))
DIGITLESS := $(subst 5,,$(subst 6,,$(subst 7,,$(subst 8,,$(subst 9,,$(DIGITLESS))))))
$(if $(filter-out all,$(DIGITLESS))$(filter 0,$(value CORES))$(if $(strip $(value CORES)),,empty),$(error \
  CORES is '$(value CORES)', which is not a number of processors: make report CORES=2, or CORES=all))

# Not in requirements.lock: what this package installs it fetches itself, from Quarto's releases, while it is installed.
QUARTO := quarto-cli==1.9.38 --hash=sha256:bd59fdc0d868cd670ea4ebbf5997bfdfd6c81a0d9f50fe099f40f992b257ce18

# Likewise, and for one command only: the wheels for x86-64 and ARM.
DENO := deno==2.9.8 --hash=sha256:b1d1318e7deda8efd593aefa8b565a827fe71cf83aeff09d3a5ceb047444ca18 --hash=sha256:3e286918a36f436134336c5c6ef37dfe3a27f16ea22cd6af452ab7daa4ef1da4

PIP := .venv/bin/python -m pip --disable-pip-version-check --no-input
# uv installs a lock in seconds; where it or an index that it finds is missing pip does it, in minutes.
INSTALL = { UV_PYTHON_DOWNLOADS=never .venv/bin/uv pip install --quiet --python .venv/bin/python $(1) 2>.venv/uv.log \
  || $(PIP) install --quiet $(1); }
# Jobs of Snakemake call `python` and `quarto` by name, snakefmt calls `shfmt`: .venv's must be the first on PATH.
IN_VENV := export PATH="$$PWD/.venv/bin:$$PATH";
# The path as typed (quotes, spaces, dollars), as a quoted string of YAML, which is what --config reads. The blanks
# around it keep Snakemake from stripping quotes that belong to the path.
export CCREPORT_ARCHIVE := $(value ARCHIVE)
export CCREPORT_VERSION := $(value VERSION)
QUOTED := python -c 'import json, sys; print(json.dumps(sys.argv[1], ensure_ascii=False))'
ARCHIVE_CONFIG := $${CCREPORT_ARCHIVE:+"archive= $$($(QUOTED) "$$CCREPORT_ARCHIVE") "}
VERSION_CONFIG := $${CCREPORT_VERSION:+"release={version: $$($(QUOTED) "$$CCREPORT_VERSION")}"}
# Of two of this option Snakemake takes the last.
CONFIG := $(if $(or $(value ARCHIVE),$(value VERSION)),--config)

# Progress in place of Snakemake's log, which is in .snakemake/log in either case. The option takes all words up to the
# next option.
PROGRESS = $(if $(VERBOSE),,--logger ccreport)

# Where no bytecode may be kept each of a build's processes compiles all that it imports, for seconds.
unexport ARCHIVE PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help collect kernel scorecard collected cluster report tables ingest database publish test test-slow test-all browser pictures lint bench fuzz audit lock setup sql quarto s3server clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

report: ## the whole report from the raw archive: CORES=8, ARCHIVE=path of another archive, or of a folder of parts, VERBOSE=1
tables: ## the published tables only
ingest: ## the typed tables only, one Parquet file per table and experiment
database: ## the DuckDB file with one view per typed table
report tables ingest database: .venv/.complete
	@$(IN_VENV) snakemake $(PROGRESS) --cores "$(CORES)" $@ $(CONFIG) $(ARCHIVE_CONFIG)

publish: .venv/.complete ## the report, and a release of it that others can check: VERSION=2.1, ARCHIVE=path in place of the configured ones
	@$(IN_VENV) snakemake $(PROGRESS) --cores "$(CORES)" publish $(CONFIG) $(ARCHIVE_CONFIG) $(VERSION_CONFIG)

# By these names its settings are refused.
collect: export CCREPORT_TYPED := campaign=CAMPAIGN collect_clock=CLOCK collect_kernel=KERNEL
collect: .venv/.complete ## run a declared sweep into archive/<its name>: CAMPAIGN=campaigns/quick.yaml, CLOCK=virtual, KERNEL=path
	@$(IN_VENV) snakemake $(PROGRESS) --cores 1 collect $(if $(CAMPAIGN)$(CLOCK)$(KERNEL),--config) \
	  $(if $(CAMPAIGN),campaign="$(CAMPAIGN)") $(if $(KERNEL),collect_kernel="$(KERNEL)") \
	  $(if $(CLOCK),collect_clock="$(CLOCK)" collect_into="archive/$(CLOCK)")

kernel: .venv/.complete ## build a user-mode kernel with virtual time, once, below ~/.cache/ccreport: 5 minutes on 2 cores
	@$(IN_VENV) nice python -m ccreport build_kernel

# Exit 1 and 2 of the comparison mean that something differs, or is undecided, which is for the page to say.
scorecard: .venv/.complete ## the criteria of RFC 9743 against CUBIC, in virtual time: ALGORITHM=bbr, KERNEL=path, BLOCKS=20 for more
	@$(IN_VENV) python -m ccreport compare_kernels comparisons/rfc9743.yaml --algorithm "$(ALGORITHM)" \
	  $(if $(BLOCKS),--blocks "$(BLOCKS)") $(if $(KERNEL),--kernel "$(KERNEL)") $(ARGS) || [ $$? -lt 3 ]

collected: .venv/.complete ## the report of what campaigns/quick.yaml collected: results/collected/quick/esnet-dtn/report
	@$(IN_VENV) snakemake --cores "$(CORES)" evaluation --config archive=archive/quick evaluation=esnet-dtn explanations= \
	  'pathvars={results: results/collected/quick, logs: logs/quick}'
	@if [ -d archive/virtual/quick ]; then $(IN_VENV) snakemake --cores "$(CORES)" tables \
	  --config archive=archive/virtual/quick evaluation=esnet-dtn explanations= \
	  'pathvars={results: results/collected/virtual, logs: logs/virtual}'; fi

cluster: .venv/.developer ## the report through a Slurm of one node, started for it: results/cluster/report; TARGET=tables
	@$(IN_VENV) python tests/support/one_node_slurm.py results/cluster/slurm snakemake --profile workflow/profiles/slurm "$(TARGET)" \
	  --config 'pathvars={results: results/cluster, logs: logs/cluster}'

test: ## run the tests that take seconds each, 8 minutes in all on 2 idle cores: ARGS="-k name" and the like go to pytest
test-slow: ## run the other tests: whole builds, browsers, virtual machines
test-all: ## run every test
test: SELECTED := -m "not slow"
test-slow: SELECTED := -m slow
test test-slow test-all: .venv/.developer
	@$(IN_VENV) pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder $(SELECTED) $(ARGS)

browser: report .venv/.developer ## look at the built report in Chromium: faults, links, contrast; pictures in results/screenshots
	@$(IN_VENV) CCREPORT_SITE=results/report CCREPORT_SCREENSHOTS=results/screenshots pytest --numprocesses 2 tests/report/test_browser.py $(ARGS)

pictures: report .venv/.developer ## renew the pictures of the README and of kinds of figures (Debian's packages chromium and graphviz)
	@$(IN_VENV) python scripts/picture_first_page.py results/report/index.html docs/first_page.png
	@cp results/esnet-dtn/figures/figure_4/figure.svg docs/figure_4.svg
	@$(IN_VENV) snakemake report --rulegraph dot --config 'sections=[]' 2>/dev/null | tred \
	  | dot -Tsvg -Gbgcolor=white -o docs/rules.svg
	@$(IN_VENV) for of in edge-bbr2:edge/archive brakmo-bbr:rpc_load.tar.xz; do \
	  snakemake $(PROGRESS) --cores "$(CORES)" "results/pictures/$${of%:*}/$${of%:*}/figures" --config explanations= \
	    "archive=tests/fixtures/$${of#*:}" "evaluation=$${of%:*}" \
	    "pathvars={results: results/pictures/$${of%:*}, logs: logs/pictures/$${of%:*}}" || exit; \
	done
	@$(IN_VENV) PYTHONPATH=tests:tests/support python scripts/picture_kinds.py reports/kinds results/esnet-dtn results/mininet-bbr2 \
	  results/brakmo-bbr results/edge-bbr2 results/pictures/edge-bbr2/edge-bbr2 results/pictures/brakmo-bbr/brakmo-bbr

lint: .venv/.developer ## check style, workflow and types, as continuous integration does
	$(IN_VENV) ruff check
	$(IN_VENV) ruff format --check
	$(IN_VENV) snakefmt --check rules workflow/Snakefile
	$(IN_VENV) snakemake --lint
	$(IN_VENV) mypy

bench: .venv/.developer ## run every benchmark, one after another
	@$(IN_VENV) for script in benchmarks/*.py; do echo "== $$script"; python "$$script" || exit; done

lock: .venv/.developer ## renew both locks from pyproject.toml: ARGS=--upgrade takes the newest versions
	@compile="$$PWD/.venv/bin/uv pip compile pyproject.toml --extra build --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --quiet"; \
	$$compile --extra dev --extra bench $(ARGS) -o requirements-dev.lock && \
	$$compile --constraint requirements-dev.lock --upgrade -o requirements.lock

setup: .venv/.complete ## make or renew .venv (targets that need more, such as test, add it): PYTHON=python3.12
	@echo "Set up: .venv"

# The newest one that Rust 1.92 compiles; unoptimised, which compiles in half the time and serves the tests as well.
s3server: .venv/s3/versitygw ## compile the S3-compatible server that tests of s3:// addresses run on loopback (Go 1.24)

.venv/s3/versitygw: | .venv/.locked
	@GOBIN="$$PWD/.venv/s3" GOFLAGS=-mod=mod go install -gcflags="all=-N -l" github.com/versity/versitygw/cmd/versitygw@v1.8.0

# Deno fetches the packages that javascript/deno.lock pins, bundles them, and is removed again: 95 MB for 160 kB.
sql: .venv/.complete ## add to the explorer what runs SQL in the browser, from packages of the npm registry
	@mkdir -p .venv/share/ccreport .venv/deno && printf '%s\n' '$(DENO)' >.venv/deno/deno.txt
	@trap 'rm -rf .venv/deno' EXIT; \
	$(PIP) install --quiet --require-hashes --no-deps --target .venv/deno --requirement .venv/deno/deno.txt && \
	DENO_DIR="$$PWD/.venv/deno/cache" .venv/deno/bin/deno bundle --quiet --platform browser --format iife --minify --frozen \
	  --lock javascript/deno.lock --output .venv/share/ccreport/sql.js javascript/sql.js && \
	echo "SQL engine: .venv/share/ccreport/sql.js; make report puts it into the explorer"

quarto: .venv/.complete ## add Quarto to .venv, from its own releases; without it the embedded renderer makes the report
	@$(IN_VENV) if quarto --version >/dev/null 2>&1; then \
	  echo "Quarto: $$(command -v quarto)"; \
	else \
	  echo "Adding Quarto: one attempt of at most $(QUARTO_SECONDS) s ..."; \
	  mkdir -p .venv/tmp && echo '$(QUARTO)' >.venv/tmp/quarto.txt; \
	  TMPDIR="$$PWD/.venv/tmp" timeout -k 5 "$(QUARTO_SECONDS)" $(PIP) install --require-hashes --no-deps \
	    --no-build-isolation --requirement .venv/tmp/quarto.txt >.venv/quarto.log 2>&1 & \
	  attempt=$$!; trap 'kill $$attempt; exit 130' INT TERM; \
	  wait $$attempt && .venv/bin/quarto --version >>.venv/quarto.log 2>&1; added=$$?; \
	  rm -rf .venv/tmp; \
	  if [ $$added = 0 ]; then \
	    echo "Quarto: .venv/bin/quarto"; \
	  else \
	    $(PIP) uninstall --quiet --yes quarto-cli >/dev/null 2>&1; \
	    rm -rf .venv/bin/quarto .venv/lib/python3*/site-packages/quarto_cli*; \
	    echo "Quarto could not be added (see .venv/quarto.log); the embedded renderer makes the report." >&2; \
	    exit 1; \
	  fi; \
	fi

fuzz: .venv/.developer ## fuzz every reader of raw files: SECONDS=300 each, ARGS="--parser iperf3 ss" some of them
	@$(IN_VENV) nice python scripts/fuzz.py --seconds "$(SECONDS)" $(ARGS)

audit: .venv/.developer ## ask for known vulnerabilities of the locked packages: 1 there are some, 2 could not be asked
	@$(IN_VENV) python scripts/audit.py $(ARGS)

clean: ## remove results, logs and caches; .venv stays
	rm -rf results logs .snakemake .pytest_cache .ruff_cache .mypy_cache .hypothesis

# A new or interrupted set-up starts from an empty .venv: --clear removes the stamps too, each is written last.
.venv/.locked: requirements.lock
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is not Python 3.11 or newer,\
	 which ccreport needs. Name another: make report PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make a virtual environment.\
	 On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Setting up .venv, once: half a minute with uv, two minutes without; 1.4 GB ..."
	@"$(PYTHON)" -m venv --clear .venv
	@sed -n '/^uv==/,/^ *#/p' requirements-dev.lock >.venv/uv.txt
	@$(PIP) install --quiet --require-hashes --requirement .venv/uv.txt 2>.venv/uv.log || true
	@$(call INSTALL,--require-hashes --requirement requirements.lock) || { echo "Set-up failed. Every package is\
	 ready-made for Python 3.11 to 3.13; where one was to be compiled, name such a Python: PYTHON=python3.13" >&2; exit 1; }
	@touch $@

.venv/.complete: pyproject.toml .venv/.locked
	@$(call INSTALL,--no-deps --no-build-isolation --editable .)
	@echo "Compiling the readers of ss and of captures ..."
	@.venv/bin/python -m ccreport compile_kernels --kernels .venv/kernels.txt
	@touch $@

.venv/.developer: requirements-dev.lock .venv/.complete
	@echo "Adding the tools of developers: 0.9 GB ..."
	@$(call INSTALL,--require-hashes --requirement requirements-dev.lock)
	@touch $@
