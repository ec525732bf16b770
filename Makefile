# Everything that nodefence can do from here. `make help` lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash
export GOTOOLCHAIN ?= local
# The same everywhere, so that what all stand on is compiled once; and debug
# information, which a fifth of the compiler's time goes to, is not used.
export CGO_ENABLED := 0
export GOFLAGS += -trimpath -gcflags=all=-dwarf=false
# Memory is cheaper than time: compilers, labs and walks collect garbage less often.
# What is measured, and shown, does so as everywhere.
test twins verify: export GOGC ?= 300
# Without gRPC's trace pages and the RPC of Lambda's first runtime the linker leaves out each method that
# nothing calls, which is a fifth of a program. .ko.yaml, infra/knative/Dockerfile, infra/release/programs and
# infra/aws/README.md name the same tags.
PROGRAM_TAGS := grpcnotrace,lambda.norpc
GOFILES := $(shell find . -name '*.go' -not -name '*_test.go' -not -path './.git/*')
CONTROLLER_GEN := go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
CYCLONEDX := go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
GOVULNCHECK := go run golang.org/x/vuln/cmd/govulncheck@v1.9.0
# The lab's Kubernetes, from 1.31 on; without it the one that test/lab/controlplane names.
ifdef LAB_KUBERNETES
export NODEFENCE_LAB_SRC := $(shell test/lab/older $(LAB_KUBERNETES))
endif
LAB ?= default
NODES ?= 3
# What a release is called, and where its images are; without a tag, the commit.
VERSION ?= $(shell git describe --tags --dirty 2>/dev/null || echo v0.0.0-g$$(git rev-parse --short=12 HEAD))
REGISTRY ?=
BASE ?=

.PHONY: help
help: ## Show this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-14s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

.PHONY: build
build: bin/nodefence bin/kubectl-fence bin/nodefence-local bin/nodefence-source bin/nodefence-kdump bin/nodefence-lab ## Build all programs into bin/

bin/nodefence: $(GOFILES) go.mod go.sum
	@echo "building nodefence"; go build -tags $(PROGRAM_TAGS) -ldflags '-s -w' -o $@ ./functions/cmd/nodefence
bin/kubectl-fence: $(GOFILES) $(wildcard sources/kubectl-fence/*/*.yaml sources/kubectl-fence/ui/page/html/* sources/kubectl-fence/ui/static/*) go.mod go.sum
	@echo "building kubectl-fence"; go build -ldflags '-s -w' -o $@ ./sources/kubectl-fence
bin/nodefence-local: $(GOFILES) go.mod go.sum
	@echo "building nodefence-local (the first time takes some minutes)"; go build -o $@ ./infra/local/cmd/nodefence-local
bin/nodefence-source: $(GOFILES) go.mod go.sum
	@echo "building nodefence-source"; go build -tags $(PROGRAM_TAGS) -o $@ ./sources/apiserver/cmd/nodefence-source
bin/nodefence-kdump: $(GOFILES) go.mod go.sum
	@echo "building nodefence-kdump"; go build -o $@ ./sources/kdump/cmd/nodefence-kdump
bin/nodefence-lab: $(GOFILES) test/lab/bringup/auditpolicy.yaml test/lab/go.mod test/lab/go.sum
	@echo "building nodefence-lab"; cd test/lab && go build -o ../../bin/nodefence-lab ./cmd/nodefence-lab

.PHONY: lab-build
lab-build: bin/nodefence-lab ## Build the lab's Kubernetes into the user's cache (once, about ten minutes)
	@bin/nodefence-lab build >/dev/null

.PHONY: demo
demo: build lab-build ## A node dies, its pod comes back elsewhere, on a real control plane (DEMO=request|storm|zone|approve|early|degraded for others)
	@go run ./test/demo $(DEMO)

.PHONY: test
test: build lab-build ## All tests, and a tenth of the random histories (all with NODEFENCE_ALL_HISTORIES=1)
	@test/run-tests

.PHONY: twins
twins: ## Look for each broken Decide in the whole walk (once as long as the core stays as it is), and through 100,000 schedules of two gates, where `make test` hunts (minutes)
	@NODEFENCE_WHOLE_WALK=1 go test ./shared/fence -run TestEveryBrokenDecideIsCaught -timeout 60m
	@go test ./shared/fence -run TestTheEdgeOfAReservation -count=1 -v -args -edges=100000

.PHONY: fuzz
fuzz: ## Run each fuzz target for a minute, one after another (FUZZTIME=10m); a finding fails, and names its file
	@FUZZTIME="$(FUZZTIME)" test/fuzz

.PHONY: e2e-lambda
e2e-lambda: build lab-build ## Functions as Lambda runs them, with EventBridge's rules and EC2, on a real control plane
	@go test ./test/e2e/lambda -count=1 -v -timeout 20m

.PHONY: e2e-knative
e2e-knative: build lab-build ## Whole fences over the real Knative Eventing (root; builds it once, about five minutes)
	@cd test/e2e/knative && go test ./... -count=1 -v -timeout 60m

.PHONY: e2e-real
e2e-real: build lab-build ## Whole fences on real nodes: containerd, kubelets, pods, ipmi_sim (root; installs Debian packages, test/README.md)
	@test/e2e/real/run

# The oldest Kubernetes that nodefence supports, and the tests that say so: fences, their rights, and
# what the API server alone holds.
OLDEST := v1.31.0
OLDEST_TESTS := ^(TestCrashedNodeIsFencedAndItsPodMoves|TestOnlyTheGateDecides|TestRequestsAreHeldToTheirAuthors|TestFenceRequestsAreHeldToTheirAuthors|TestNobodyEndsAFenceByItsMetadata|TestARestoreIsConfirmedInOnesOwnName|TestBadInput|TestCleanupStrategies|TestRights)$$
.PHONY: e2e-oldest
e2e-oldest: build ## Fences, admission and kinds on the oldest Kubernetes that is supported (builds it once, about ten minutes)
	@$(MAKE) --no-print-directory lab-build LAB_KUBERNETES=$(OLDEST)
	@export NODEFENCE_LAB_SRC=$$(test/lab/older $(OLDEST)); \
	  go test ./test/e2e -run '$(OLDEST_TESTS)' -count=1 -v -timeout 20m && \
	  cd test/e2e/knative && go test . -run TestHelmKeepsWhatPeopleWrote -count=1 -v -timeout 10m

.PHONY: bench
bench: build lab-build ## Measure: programs, devices, fences, memory, chains on every platform (BENCH=fences measures one; BENCH=speed and BENCH=idle by SPEED="20 500", IDLE="20 500")
	@go run ./test/bench $(BENCH)

.PHONY: soak
soak: build lab-build ## Fault upon fault in a lab of many nodes for an hour, and checks (SOAK_NODES=200 SOAK_FOR=60m SOAK_SEED=1; test/README.md)
	@go run ./test/soak

.PHONY: lab-up
lab-up: build lab-build ## Start a lab: LAB=name NODES=3
	@bin/nodefence-lab up --name $(LAB) --nodes $(NODES)

.PHONY: lab-down
lab-down: bin/nodefence-lab ## End a lab and leave nothing behind: LAB=name
	@bin/nodefence-lab down --name $(LAB)

.PHONY: release
release: build ## Into dist/: all that a release holds, with checksums (VERSION=v0.1.0 REGISTRY=registry.example.com/nodefence BASE=<image>@sha256:<digest>)
	@rm -rf dist && mkdir -p dist
	@for p in nodefence kubectl-fence nodefence-local nodefence-source nodefence-kdump; do $(CYCLONEDX) bin -json -std -noserial -notimestamp -output dist/$$p.cdx.json bin/$$p && echo "dist/$$p.cdx.json" || exit 1; done
	@for a in arm64:arm64 x86_64:amd64; do GOOS=linux GOARCH=$${a#*:} go build -tags $(PROGRAM_TAGS) -ldflags '-s -w' -o bin/lambda/$${a%:*} ./functions/cmd/nodefence || exit 1; done
	@cd infra/release && go run . -version "$(VERSION)" -registry "$(REGISTRY)" -lambda-arm64 ../../bin/lambda/arm64 -lambda-x86_64 ../../bin/lambda/x86_64
	@cd infra/release && go run ./images -version "$(VERSION)" -registry "$(REGISTRY)" -base "$(BASE)"
	@infra/release/programs
	@VERSION="$(VERSION)" sources/kubectl-fence/release
	@cd dist && find . -type f | LC_ALL=C sort | sed 's,^[.]/,,' | xargs sha256sum >../bin/SHA256SUMS && mv ../bin/SHA256SUMS . && echo dist/SHA256SUMS

.PHONY: publish
publish: ## Push the images and the chart of `make release` to the registry that they name, with the credentials of `docker login`; a version is published once
	@cd infra/release && go run ./publish

.PHONY: plugin-release
plugin-release: ## Into dist/: kubectl-fence for five platforms, checksums, and Krew's manifest (VERSION=v1.2.3)
	@VERSION="$(VERSION)" sources/kubectl-fence/release

.PHONY: vulncheck
vulncheck: ## Look for known faults in what the programs call (needs a network with vuln.go.dev)
	@$(GOVULNCHECK) ./...

# The tests that write generated files. TestWalk takes minutes.
GENERATES := TestSchemas|TestWalk|TestGenerated|TestMatrix|TestThePicture
.PHONY: generate-code
generate-code: ## Write deep copies and CRDs anew, and nothing else that is generated
	@$(CONTROLLER_GEN) object crd paths=./shared/api/... output:crd:dir=infra/crd

.PHONY: generate
generate: generate-code ## Write generated files anew: deep copies, CRDs, event schemas and types, state diagram, drivers' matrix, rights, a picture
	@go test -timeout 30m ./events ./shared/fence ./shared/device/devicetest ./infra/knative ./infra/aws ./infra/crd ./infra/observability ./test/layout ./test/pages ./sources/kubectl-fence/ui/page -run '$(GENERATES)' -update >/dev/null

.PHONY: verify
verify: ## Format, vet, lint, deep copies and CRDs, manifests (generated files of tests, and the layout, are compared by make test)
	@test/verify
