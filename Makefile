# The one list of commands. `make help` prints it.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
CLUSTERS ?= 12
IDLE ?= 5
MINUTES ?= 30
N ?= 10000
PROFILE ?= release
ROLLOUTS ?= 100 1000 5000
SEED ?= 1
SEEDS ?= 200

.PHONY: help
help: ## Print this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Built as fast as it can be, and with cargo's own progress: somebody waits for it.
demo sandbox: PROFILE = demo

.PHONY: demo
demo: ## Upgrade a simulated fleet and watch it, in the terminal and on a page; DEMO="--clusters 50 …" passes flags
	$(CARGO) run --profile $(PROFILE) --package drydock-cli -- demo --dashboard $(DEMO)

.PHONY: sandbox
sandbox: ## Start a hub and simulated clusters for your own kubectl (CLUSTERS=12)
	$(CARGO) run --profile $(PROFILE) --package drydock-cli -- sandbox --dashboard --clusters $(CLUSTERS)

.PHONY: build
build: ## Build the programs: drydock-hub, drydock-agent, drydock-dashboard, kubectl-drydock
	$(CARGO) build --release --workspace --bins

# Statically linked, so that images have nothing below them.
MUSL := $(shell uname -m)-unknown-linux-musl

# Small; whoever wants to know only that they can be built takes PROFILE=demo.
image: PROFILE = image

.PHONY: image
image: ## Build the images of hub, agent and fleet page without a daemon (needs musl-tools and buildah), and print their sizes
	@rustup target list --installed | grep -qx $(MUSL) || rustup target add $(MUSL)
	@CC_$(subst -,_,$(MUSL))=musl-gcc $(CARGO) build --quiet --profile $(PROFILE) --target $(MUSL) --package drydock-hub --package drydock-agent --package drydock-cli --bin drydock-hub --bin drydock-agent --bin drydock-dashboard
	@images/build target/$(MUSL)/$(PROFILE)

.PHONY: install
install: ## Put kubectl-drydock where `kubectl drydock` finds it
	$(CARGO) install --locked --profile plugin --path cli --bin kubectl-drydock

.PHONY: krew
krew: ## Pack the plugin for this machine and write its krew manifest (RELEASES=https://…, where archives are downloaded)
	$(CARGO) build --profile plugin --package drydock-cli --bin kubectl-drydock
	@cli/krew/pack target/plugin/kubectl-drydock target/krew $(RELEASES)

# All that holds tests: no comment has an example that rustdoc would run. Tests are built for the whole workspace at once, whatever
# is run of it: for one package alone, cargo would build most of it again with fewer features.
TARGETS := --tests
# Suites that start the agent by themselves, or in which it does not matter when it starts.
ANY_ORDER := $(addprefix --skip agent::,fault_matrix killed order bench restarts hostile drains::each_kind_of_pod)

.PHONY: test
test: ## Run all tests that need only the toolchains
	$(CARGO) test --workspace $(TARGETS)

.PHONY: test-order
test-order: ## Run the agent's suites once more, each test with the other order of its objects and the agent
	AGENT_ORDER=other $(CARGO) test --quiet --workspace --test in_the_sandbox agent:: -- $(ANY_ORDER)

.PHONY: page
page: ## Check, test and build the fleet page (Node.js), and see that dashboard/web/dist is what its sources give
	@cd dashboard/web && npm ci --silent --no-audit --no-fund && npm run --silent check && npm test --silent && npm run --silent fresh

.PHONY: page-browser
page-browser: ## Test the fleet page in a browser (Debian's chromium), with a server that is made up and with the sandbox
	@[ -x target/debug/kubectl-drydock ] || $(CARGO) build --quiet --package drydock-cli
	@cd dashboard/web && npm ci --silent --no-audit --no-fund && npm run --silent browser

.PHONY: page-hub
page-hub: control-plane ## Test the fleet page in a browser with a real API server and users of different rights
	@$(CARGO) build --quiet --profile test --workspace --features drydock-e2e/control-plane --bin drydock-dashboard --example hub_page
	@cd dashboard/web && npm ci --silent --no-audit --no-fund && HUB_PAGE=$(CURDIR)/target/debug/examples/hub_page npm run --silent browser -- hub

.PHONY: pictures
pictures: ## Make the pictures of the fleet page that README and docs show
	@cd dashboard/web && npm ci --silent --no-audit --no-fund && PICTURES=$(CURDIR)/target/pictures npm run --silent browser -- pictures
	@cp target/pictures/fleet-10000-light.png docs/pictures/fleet.png
	@cp target/pictures/upgrade-light.png docs/pictures/upgrade.png

.PHONY: examples
examples: ## Run the examples of kube-sandbox
	@for example in controller definitions faults; do $(CARGO) run --quiet --package kube-sandbox --example $$example; done

.PHONY: control-plane
control-plane: ## Build kube-apiserver, kube-controller-manager and etcd, unless KUBEBUILDER_ASSETS names them
	@[ -n "$${KUBEBUILDER_ASSETS:-}" ] || e2e/control-plane/build

.PHONY: e2e
e2e: control-plane ## Run the suites that need a real API server
	$(CARGO) build --profile test --workspace --features drydock-e2e/control-plane --bins --test on_real_servers --test conformance
	$(CARGO) test --workspace --features drydock-e2e/control-plane --test on_real_servers --test conformance

.PHONY: conformance
conformance: control-plane ## Compare the sandbox with a real API server, case by case; CASES=word picks some
	@$(CARGO) test --quiet --workspace --features drydock-e2e/control-plane --test conformance -- $(CASES)

.PHONY: fuzz
fuzz: control-plane ## Compare the sandbox with a real API server by random requests (MINUTES=30, SEED=1)
	@FUZZ_MINUTES=$(MINUTES) FUZZ_SEED=$(SEED) $(CARGO) test --quiet --workspace \
		--features drydock-e2e/control-plane --test on_real_servers -- --nocapture fuzz::

.PHONY: sim
sim: ## Simulate rollouts with faults, from seeds (SEEDS=200, SEED=1)
	@SIM_SEEDS=$(SEEDS) SIM_SEED=$(SEED) $(CARGO) test --profile $(PROFILE) --quiet --package drydock-e2e --test in_the_sandbox -- --nocapture simulation:: agent::killed::

.PHONY: bench
bench: control-plane ## Measure: the sandbox beside a real API server, and rollouts as fast as possible (ROLLOUTS="100 1000 5000" clusters)
	@$(CARGO) bench --quiet --package drydock-e2e --features control-plane --bench api_server
	@$(CARGO) build --release --quiet --package drydock-cli --bin kubectl-drydock
	@for clusters in $(ROLLOUTS); do \
		began=$$(date +%s%N); \
		target/release/kubectl-drydock demo --clusters $$clusters --max-concurrency $$clusters \
			--as-fast-as-possible -o json >/dev/null 2>&1 || exit; \
		ended=$$(date +%s%N); \
		echo "rollout of $$clusters clusters: $$(( (ended - began) / 1000000 )) ms"; \
	done

.PHONY: bench-agent
bench-agent: control-plane ## Measure the agent: memory and CPU on a real API server, requests of an idle hour and of a whole upgrade
	@rustup target list --installed | grep -qx $(MUSL) || rustup target add $(MUSL)
	@CC_$(subst -,_,$(MUSL))=musl-gcc $(CARGO) build --quiet --profile image --target $(MUSL) --package drydock-agent
	@mkdir -p target/release && cp target/$(MUSL)/image/drydock-agent target/release/
	@$(CARGO) bench --quiet --package drydock-e2e --features control-plane --bench agent

.PHONY: bench-fleet
bench-fleet: control-plane ## Measure the hub on a real API server with N clusters, a tenth and a hundredth of them (N=10000, IDLE=5, ANSWERS=late, OCM=its work manager, to compare, VIEWERS=of the fleet page, ONLY=1 measures no smaller fleet)
	@$(CARGO) build --release --quiet --package drydock-hub --package drydock-cli --bin drydock-hub --bin drydock-dashboard
	@FLEET_VIEWERS=$(VIEWERS) FLEET_CLUSTERS=$(N) FLEET_IDLE_MINUTES=$(IDLE) FLEET_ANSWERS=$(ANSWERS) FLEET_OCM=$(OCM) FLEET_ONLY=$(ONLY) $(CARGO) bench --quiet --package drydock-e2e --features control-plane --bench fleet

.PHONY: bench-decision
bench-decision: ## Measure what a decision costs after one change among 100, 1,000 and 10,000 clusters
	@$(CARGO) bench --quiet --package drydock-objects --bench change

.PHONY: bench-memory
bench-memory: ## Measure what hub and fleet page keep of each of 10,000 clusters, in bytes
	@$(CARGO) bench --quiet --package drydock-objects --bench memory

.PHONY: bench-forecast
bench-forecast: ## Measure forecasts of 1,000 and 10,000 clusters, and what the sandbox takes for one rollout of 100
	@$(CARGO) bench --quiet --package drydock-forecast --bench forecast
	@$(CARGO) build --release --quiet --package drydock-cli --bin kubectl-drydock
	@began=$$(date +%s%N); \
	target/release/kubectl-drydock demo --clusters 100 --max-concurrency 50 --as-fast-as-possible -o json >/dev/null 2>&1 || exit; \
	ended=$$(date +%s%N); \
	echo "one rollout of 100 clusters in the sandbox: $$(( (ended - began) / 1000000 )) ms"

.PHONY: mutants
mutants: ## Put deliberate mistakes into a copy of hub and agent, and see that the proofs find each (SEEDS=200, PARTS="hub agent")
	@SEEDS=$(SEEDS) PARTS="$(PARTS)" e2e/mutations/run

.PHONY: alerts
alerts: ## Test the alert rules with promtool (Debian's package prometheus)
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	for part in monitoring agent agent/maintenance; do \
		sed -n '/^  groups:/,$$ s/^  //p' "manifests/$$part/prometheusrule.yaml" > "$$folder/rules.yaml"; \
		cp "manifests/$$part/tests.yaml" "$$folder"; \
		promtool check rules "$$folder/rules.yaml"; \
		promtool test rules "$$folder/tests.yaml"; \
	done

.PHONY: lint
lint: ## Check format, lints and dependencies
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	$(CARGO) deny --log-level error check bans licenses sources
	$(CARGO) machete
	typos
	@for patch in e2e/mutations/*/*.patch; do git apply --check $$patch || exit 1; done

.PHONY: format
format: ## Format the code
	$(CARGO) fmt --all

.PHONY: crds
crds: ## Generate crds/ from the types
	$(CARGO) run --quiet --package drydock-api --bin crds

.PHONY: book
book: ## Build docs/ into target/book
	@# The drawings' scripts, which it has in itself.
	@mdbook-mermaid install docs
	mdbook build docs

.PHONY: audit
audit: ## Look dependencies up in the RustSec advisory database (needs GitHub)
	$(CARGO) deny check advisories
