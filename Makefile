# Makefile - the front door: one word per intention. `make help` lists them.
# SPDX-License-Identifier: Apache-2.0
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SECONDS_EACH ?= 60
CMAKE_ARGS ?=
PEERS ?=
# Ninja, once it is installed, for folders that nothing was built in yet: with
# 250 test programs make takes 40 s of CPU to find that there is nothing to do.
export CMAKE_GENERATOR = $(if $(shell command -v ninja),Ninja,Unix Makefiles)
PATHS ?=
RATES ?=

all: build

help: ## this list
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } \
	    /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' \
	    $(MAKEFILE_LIST)

##@ Start
deps: ## install what is missing (Debian 12; quick when nothing is)
	@.ci/deps

build: ## the command, the libraries, tests and benchmarks, in build/
	@.ci/deps --check
	@mkdir -p $(BUILD)
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CMAKE_ARGS) \
	    >$(BUILD)/configure.log 2>&1 || \
	    { cat $(BUILD)/configure.log >&2; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS) $(if $(ONLY),--target $(ONLY))

demo: deps ## train on real data that comes with the sources
	@$(MAKE) --no-print-directory build ONLY=skein
	@$(BUILD)/skein graph configs/wnhyp.yaml --text
	@$(BUILD)/skein train configs/wnhyp.yaml --report
	@echo
	@echo "That was a layer of 3,213 outputs, trained by actors on this" \
	    "machine. Next: $(BUILD)/skein --help, or README.md."

wow: deps ## two minutes of a run whose nodes die, come, and give way
	@$(MAKE) --no-print-directory build ONLY=skein
	@bench/wow.sh

files: ## which package ships this file? PATHS="/usr/bin/gcc-12 ..."
	@.ci/deps --files
	@$(MAKE) --no-print-directory build ONLY=skein
	@docs/examples/files/run.sh $(BUILD)/skein $(BUILD)/files $(PATHS)

gpt: deps ## a transformer learns a text in two minutes, and writes. TEXT=FILE
	@$(MAKE) --no-print-directory build ONLY=skein
	@docs/examples/gpt.sh $(BUILD)/skein $(BUILD)/gpt "$(TEXT)"

##@ Check a change
test: deps ## tests (but for the long ones); closes with N passed, N failed
	@$(MAKE) --no-print-directory build
	@tests/run.sh $(BUILD) -LE long

test-all: deps ## every test, the long ones among them
	@$(MAKE) --no-print-directory build
	@tests/run.sh $(BUILD)

##@ Measure
bench: deps ## every benchmark of bench/, and of messages, as text
	@$(MAKE) --no-print-directory build
	@$(BUILD)/skein bench flow
	@[ -d $(BUILD)/bench-run ] || $(BUILD)/skein train configs/wnhyp.yaml \
	    -o train.epochs=1 -o checkpoint.path=$(BUILD)/bench-run >/dev/null
	@for bench in $(BUILD)/bench/bench_*; do \
	    case $$bench in *_batcher) run=$(BUILD)/bench-run ;; \
	    *_schedules) bench/schedules.py grid --program $$bench --steps 1 \
	        --ms 5 || exit 1; continue ;; \
	    *) run= ;; esac; \
	    [ ! -x $$bench ] || $$bench $$run || exit 1; done

billion: deps ## more than 10^9 parameters over four nodes on thin links
	@$(MAKE) --no-print-directory build ONLY=skein
	@$(MAKE) --no-print-directory build ONLY=fault_relay
	@/usr/bin/python3 bench/billion.py --build $(BUILD)

bench-peers: ## P@1 by CPU seconds, beside PyTorch, fastText, label trees
	@.ci/deps --peers
	@$(MAKE) --no-print-directory build ONLY=skein
	@/usr/bin/python3 bench/peers.py --skein $(BUILD)/skein \
	    --out $(BUILD)/peers $(PEERS)
	@echo "Picture: $(BUILD)/peers.svg. Options: bench/peers.py --help;" \
	    "PEERS='--napkin .../nxc' adds napkinXC."

bench-rates: ## examples a core-second, beside PyTorch, SLIDE and the limit
	@.ci/deps --peers
	@$(MAKE) --no-print-directory build
	@/usr/bin/python3 bench/rates.py --skein $(BUILD)/skein $(RATES)
	@echo "Options: bench/rates.py --help; RATES='--set FOLDER --slide" \
	    "BINARY --repeats 3' has more of them."

##@ Look deeper
fuzz: deps ## each fuzz target for a while (SECONDS_EACH=60)
	@.ci/fuzz $(SECONDS_EACH)

sanitize: deps ## the tests with address, undefined and thread sanitizers
	@.ci/sanitizers address,undefined
	@.ci/sanitizers thread

coverage: deps ## which lines the tests run: build-coverage/coverage.html
	@.ci/coverage

##@ Keep it clean
format: ## make the sources look as .clang-format says
	@.ci/format --fix

tidy: ## the house style, as far as a machine can see it
	@.ci/tidy
	@.ci/format

analyze: deps ## what clang's analyzer suspects; advice only
	@.ci/analyze

nightly: deps ## everything that takes long: fuzzing, sanitizers, repetitions
	@.ci/nightly

##@ Install
install: ## install below PREFIX (default /usr/local; DESTDIR too)
	@$(MAKE) --no-print-directory build ONLY=product
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean: ## remove what was built
	@rm -rf $(BUILD) $(BUILD)-*

.PHONY: all help deps build demo wow files test test-all bench bench-peers \
    bench-rates billion fuzz sanitize coverage format tidy analyze nightly \
    install clean
