# Everything a person does here has a name; `make help` lists the names.
#
# Go and make are all that has to be there. What else a target needs it builds
# into bin/, from the Go modules that go.mod and this file pin.

MODULE  := github.com/farrier-dev/farrier
BIN     := bin
PREFIX  ?= /usr/local
VERSION ?= $(shell git describe --tags --match 'v*' --always --dirty 2>/dev/null || echo unknown)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)

# One set of flags for all that is not raced: building, vetting, linting and
# testing then share one build cache, and the Kubernetes API is compiled once.
FLAGS   := -trimpath -buildvcs=false
GO      := CGO_ENABLED=0 go
LDFLAGS  = -s -w -X $(MODULE)/internal/program/version.Release=$(VERSION) -X $(MODULE)/internal/program/version.Commit=$(COMMIT)

# The race detector needs cgo, and that a C compiler. Without one the tests run
# all the same and say that they were not raced. `make check` vets everything,
# so go test does not vet it again. Packages without a goroutine left to report
# a race need not wait a second for one at their end (atexit_sleep_ms). The
# detector also has every pointer conversion checked, which in what we do not
# maintain (reflect, above all) takes a tenth of the time: ours are checked.
# Those that are tested plain wait for programs and for each other, so four of them
# run at a time on any machine. Raced ones wait too, for time-outs of BMCs and boots.
CC_FOUND   = $(shell set -- $$(go env CC); command -v "$$1" 2>/dev/null)
# Collecting garbage less often saves raced tests up to a seventh of their processor time.
RACED      = CGO_ENABLED=1 GOGC=400 GORACE=atexit_sleep_ms=50 go test -race $(FLAGS) -gcflags=all=-d=checkptr=0 -gcflags=$(MODULE)/...=-d=checkptr=1
TEST_RACED = $(if $(CC_FOUND),$(RACED),$(GO) test $(FLAGS)) -vet=off -timeout 10m -p 3
TEST_PLAIN = $(GO) test $(FLAGS) -vet=off -timeout 40m -p 4

GOVULNCHECK_VERSION   := v1.9.0
GOLANGCI_LINT_VERSION := v2.11.4
GOLANGCI_LINT         := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)

# The tests that take longest begin first, lest the end waits for one of them alone.
LONG_TESTS := test/acceptance test/attacks test/manager test/cluster internal/cli/demo internal/controller/bmcuser internal/move test/faults test/claims internal/fleet internal/controller/claim internal/controller/server \
	internal/controlplane/acceptance test/bootstream internal/bootserver/process internal/probe/disk internal/image/blobcache internal/sim

# What makes a package one in which something runs beside something else.
BESIDE := ^[[:space:]]*(defer )?go |\.Go\(

# Packages that start goroutines and whose tests go step by step all the same, in one. What runs them beside each other is raced: test/claims.
STEPPED := internal/controller/claim

BENCHES   = $(patsubst %/main.go,%,$(wildcard bench/*/main.go))
FUZZTIME ?= 5s
CASES ?= 3000
ARGS     ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z][a-z-]*:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ What is built

.PHONY: build
build: ## Build bin/farrier, bin/farrier-manager, bin/farrier-bootserver and bin/metalprobe
	$(GO) build $(FLAGS) -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/...

.PHONY: install
install: build ## Install the binaries below PREFIX (/usr/local)
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 0755 $(BIN)/farrier $(BIN)/farrier-manager $(BIN)/farrier-bootserver $(BIN)/metalprobe '$(DESTDIR)$(PREFIX)/bin'

.PHONY: demo
demo: build ## Rack to running servers, simulated, in this terminal (ARGS="--servers 10")
	$(BIN)/farrier demo $(ARGS)

.PHONY: recording
recording: build ## Record the demo in docs/demo.svg, on a machine that does nothing else
	cd hack/recording && $(GO) run $(FLAGS) . -out '$(CURDIR)/docs/demo.svg' -title 'A recording of farrier demo' '$(CURDIR)/$(BIN)/farrier' demo

.PHONY: screenshots
screenshots: build ## Take the pictures of the dashboard in docs/images, with Debian's chromium
	FARRIER_TEST_PICTURES='$(CURDIR)/docs/images' $(TESTENV) $(GO) test $(FLAGS) -vet=off -count=1 -run '^TestPictures$$' ./test/dashboard

# BASE is the path of the site on its host.
BASE ?= /

.PHONY: site
site: ## Render README.md and docs/ as static HTML in dist/site
	cd hack/site && $(GO) run $(FLAGS) . -root '$(CURDIR)' -out '$(CURDIR)/dist/site' -base '$(BASE)'

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN) dist

##@ What users get

# All platforms take minutes at the first build, because each compiles the Kubernetes API server.
PLATFORMS ?= linux/amd64,linux/arm64,darwin/arm64
GIVEN     := $(filter command environment,$(word 1,$(origin VERSION)))
RELEASE    = cd hack/release && $(GO) run $(FLAGS) .
OF         = $(if $(GIVEN),--version '$(VERSION)') --platforms '$(PLATFORMS)'

.PHONY: release
release: ## Make everything of VERSION=v0.1.0 in dist/: archives, images, packages, checksums
	$(RELEASE) all $(OF)

.PHONY: images
images: ## Write container images as OCI layouts in dist/images
	$(RELEASE) images $(OF)

.PHONY: push-images
push-images: ## Push those to REGISTRY=registry.example.org/farrier
	$(RELEASE) push '$(REGISTRY)'

.PHONY: deb
deb: ## Make the Debian package of this machine's architecture in dist/
	$(RELEASE) deb $(if $(GIVEN),--version '$(VERSION)') --platforms "linux/$$(go env GOARCH)"

# What `make release` does, for this platform alone and of a tree as it is.
.PHONY: release-smoke
release-smoke: $(BIN)/helm ## Test what makes releases, and make one for this platform in bin/
	cd hack/release && $(TESTENV) $(GO) test $(FLAGS) -vet=off ./...
	$(RELEASE) all --unreleased --platforms "$$(go env GOOS)/$$(go env GOARCH)" --dist '$(CURDIR)/$(BIN)/release-smoke'

##@ What keeps it right

# A race-built control plane is five times slower and takes minutes to compile.
# Packages that link it are tested without the race detector; everybody else
# starts it as a child process, built once here, and is raced. Not so packages
# that have nothing but tests, of which none links the product (they read its
# sources and pages): there is nothing to race. Nor is there where neither the
# package nor its tests start a goroutine (BESIDE), or where the tests wait for each (STEPPED).
# Tests that start a Kubernetes API are acceptance's, raced or not by the same rules.
PACKAGES = $$(awk '$$1 == "$(1)" { print $$2 }' $(BIN)/test-packages | xargs)

.PHONY: test
test: build $(BIN)/test-packages ## Run the tests of packages, with the race detector where something can race
	$(if $(CC_FOUND),,@echo 'note: no C compiler found, so these tests run without -race')
	@hack/run-all.sh "cd api && $(TEST_RACED) ./..." "cd hack/recording && $(TEST_PLAIN) ./..." "cd hack/site && $(TEST_PLAIN) -count=1 ./..." \
		"$(TESTENV) $(TEST_RACED) $(call PACKAGES,raced)" "$(TESTENV) $(TEST_PLAIN) $(call PACKAGES,plain)"

# What the packages of the built programs test runs in other processes (test/product), where a race detector of theirs would see nothing; the simulator and
# the registry that they bring along are raced in their own packages. The tests of the Helm chart are a module of their own; they run promtool where hack/promtool.sh has unpacked
# it. What they read is outside of it, where the go command sees no change, so their results are not cached.
.PHONY: acceptance
acceptance: build $(BIN)/test-controlplane $(BIN)/test-kubeapiserver $(BIN)/helm $(BIN)/cert-manager-crds $(BIN)/test-packages ## Run the tests against a Kubernetes API, those of the built programs, and those of the Helm chart
	@hack/run-all.sh "cd hack/charttest && $(TESTENV) $(TEST_PLAIN) -count=1 ./..." \
		"$(TESTENV) $(TEST_RACED) $(call PACKAGES,raced-api)" "$(TESTENV) $(TEST_PLAIN) $(call PACKAGES,plain-api)" \
		"$(TESTENV) $(TEST_PLAIN) $(call PACKAGES,program)"

# What a budget of memory or time is held against depends on what else the machine does, so these tests run by themselves: package after
# package, without the race detector. They stand in files with the build tag, and are called TestBudget…
.PHONY: budgets
budgets: build $(BIN)/test-controlplane ## Run the tests of budgets of memory and time
	$(TESTENV) $(GO) test $(FLAGS) -tags budget -count=1 -p 1 -timeout 10m -run '^TestBudget' \
		$$(git grep -l '^//go:build budget' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's,^,./,')

# Tests run these programs as child processes. Without the variables they would
# build their own, with other flags, and compile everything a second time.
TESTENV = FARRIER_TEST_CONTROLPLANE='$(CURDIR)/$(BIN)/test-controlplane' FARRIER_TEST_BINARY='$(CURDIR)/$(BIN)/farrier' FARRIER_TEST_MANAGER='$(CURDIR)/$(BIN)/farrier-manager' \
	FARRIER_TEST_BOOTSERVER='$(CURDIR)/$(BIN)/farrier-bootserver' FARRIER_TEST_CERTMANAGER='$(CURDIR)/$(BIN)/cert-manager-crds' \
	FARRIER_TEST_KUBEAPISERVER='$(CURDIR)/$(BIN)/test-kubeapiserver' FARRIER_TEST_HELM='$(CURDIR)/$(BIN)/helm'

# The go command touches what it finds up to date; a copy that keeps its time
# keeps the results of tests that read it cached.
.PHONY: $(BIN)/test-controlplane $(BIN)/test-kubeapiserver $(BIN)/helm
$(BIN)/test-controlplane:
	$(GO) build $(FLAGS) -ldflags '-s -w' -o $@.new ./internal/controlplane/testapi/apiserver
	@cmp -s $@.new $@ || cp $@.new $@

$(BIN)/test-kubeapiserver:
	$(GO) build $(FLAGS) -ldflags '-s -w' -o $@.new ./internal/controlplane/testapi/kubeapiserver
	@cmp -s $@.new $@ || cp $@.new $@

# Helm itself, of the version whose library renders the chart in hack/charttest.
$(BIN)/helm:
	cd hack/charttest && $(GO) build $(FLAGS) -ldflags '-s -w' -o '$(CURDIR)/$@.new' helm.sh/helm/v3/cmd/helm
	@cmp -s $@.new $@ || cp $@.new $@

# The definitions of cert-manager are in its module, of the version that hack/certmanager pins.
$(BIN)/cert-manager-crds: hack/certmanager/go.mod
	@cd hack/certmanager && go mod download
	@mkdir -p $@
	@install -m 0644 "$$(cd hack/certmanager && go list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)"/deploy/crds/cert-manager.io_*.yaml $@
	@touch $@

# The kernel is the newest of those that are installed or unpacked. However it ends, the end is a table of the machines that were booted; what is kept of those
# whose tests failed is beside it. ARGS=-short takes ten minutes, and the table names what it leaves out.
.PHONY: e2e
e2e: build ## Boot real firmware in QEMU; as root on Debian it installs what it needs
	hack/e2e-packages.sh
	@rm -rf $(OUTCOME)
	FARRIER_E2E=1 FARRIER_TEST_BINARY='$(CURDIR)/$(BIN)/farrier' FARRIER_TEST_MANAGER='$(CURDIR)/$(BIN)/farrier-manager' FARRIER_TEST_BOOTSERVER='$(CURDIR)/$(BIN)/farrier-bootserver' \
	FARRIER_E2E_KERNEL="$$(ls /boot/vmlinuz-*-cloud-amd64 $(CURDIR)/$(BIN)/e2e/boot/vmlinuz-*-cloud-amd64 2>/dev/null | tail -n 1)" \
	FARRIER_E2E_OUTCOME='$(CURDIR)/$(OUTCOME)' \
		$(GO) test $(FLAGS) -count=1 -timeout 40m $(ARGS) ./test/e2e; status=$$?; \
		printf '\n%-72s %-8s %7s\n' 'machine' 'result' 'seconds'; cat $(OUTCOME)/summary.txt; exit $$status

OUTCOME = $(BIN)/e2e/outcome

.PHONY: $(BIN)/test-packages
$(BIN)/test-packages:
	@mkdir -p $(BIN)
	@go list -test -f '{{if eq .Name "main"}}{{.ImportPath}}{{range .Deps}} {{.}}{{end}}{{else if eq (print .GoFiles) "[doc.go]"}}source {{.ImportPath}}{{end}}' ./... > $@.deps
	@go list -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r package dir; do \
		grep -qE '$(BESIDE)' "$$dir"/*.go || echo "sequential $$package"; done >> $@.deps
	@printf 'sequential $(MODULE)/%s\n' $(STEPPED) >> $@.deps
	@awk -v module=$(MODULE) -v first='$(LONG_TESTS)' -f hack/test-packages.awk $@.deps > $@

# Each client is a module of its own, with the versions that it was published with: some two minutes to compile, which make test is spared.
CLIENTS = $(sort $(patsubst %/go.mod,%,$(wildcard test/clients/*/go.mod)))

.PHONY: clients
clients: build $(BIN)/test-controlplane ## Run clients of metal-operator, unmodified, against farrier up
	@hack/run-all.sh $(foreach client,$(CLIENTS),"cd $(client) && $(TESTENV) $(TEST_PLAIN) -count=1 ./...")

.PHONY: check
check: ## Formatting and go vet: what can be said without running anything
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; }
	$(GO) vet $(FLAGS) -tags budget ./...
	cd api && $(GO) vet $(FLAGS) ./...
	cd hack/charttest && $(GO) vet $(FLAGS) ./...
	cd hack/release && $(GO) vet $(FLAGS) ./...
	cd hack/recording && $(GO) vet $(FLAGS) ./...
	cd hack/site && $(GO) vet $(FLAGS) ./...
	@set -e; for module in test/clients $(CLIENTS); do echo "cd $$module && $(GO) vet $(FLAGS) ./..."; ( cd $$module && $(GO) vet $(FLAGS) ./... ); done

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run golangci-lint, at the version pinned here
	GOFLAGS='$(FLAGS)' CGO_ENABLED=0 $(GOLANGCI_LINT) run ./...
	cd api && GOFLAGS='$(FLAGS)' CGO_ENABLED=0 ../$(GOLANGCI_LINT) run ./...

$(GOLANGCI_LINT):
	GOBIN='$(CURDIR)/$(BIN)' $(GO) install $(FLAGS) github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv $(BIN)/golangci-lint $@

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what is linked, where their database can be reached
	hack/vulncheck.sh $(GOVULNCHECK_VERSION)

.PHONY: fuzz-smoke
fuzz-smoke: ## Run every fuzz target for FUZZTIME (5s)
	@grep -rno --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' api config internal | \
	while IFS=: read -r file _ decl; do \
		echo "$${decl#func } in $$(dirname "$$file")"; \
		( cd "$$(dirname "$$file")" && go test -run '^$$' -fuzz "^$${decl#func }\$$" -fuzztime $(FUZZTIME) . ) </dev/null || exit 1; \
	done

# A property that fails in one of ten thousand cases fails some day in a change that has nothing to do with it. The tests that draw are found by the call.
.PHONY: properties
properties: ## Draw CASES (3000) cases of every property test, where make test draws a hundred
	@grep -rl --include='*_test.go' 'rapid\.Check(' internal | xargs -n1 dirname | sort -u | while read -r dir; do \
		tests="$$(awk '/^func Test/ { name = $$2; sub(/\(.*/, "", name) } /rapid\.Check\(/ { print name }' "$$dir"/*_test.go | sort -u | paste -sd'|' -)"; \
		CGO_ENABLED=0 $(GO) test $(FLAGS) -vet=off -timeout 30m -run "^($$tests)\$$" "./$$dir" -rapid.checks=$(CASES) -rapid.nofailfile </dev/null || exit 1; \
	done

##@ What is generated

.PHONY: generate
generate: ## Generate deep copies, CRDs, lists of boot config kinds, kustomize bases, Go from the boot stream's protocol, docs/server-states.md, docs/troubleshooting.md, docs/flags.md and docs/reference/api.md
	hack/generate.sh
	go generate ./internal/controller/server ./internal/diagnosis ./hack/manual

# Compares with the working tree, not with the last commit: it also answers
# before committing.
GENERATED = git ls-files -co --exclude-standard -- 'api/**/zz_generated*' config/crd config/manager config/tenant config/webhook config/kustomize charts/farrier/files '*.pb.go' | sort | xargs cksum

.PHONY: verify-generated
verify-generated: ## Fail unless what is generated is what the API types and the protocol say
	@mkdir -p $(BIN)
	@$(GENERATED) > $(BIN)/generated.before
	hack/generate.sh
	@$(GENERATED) > $(BIN)/generated.after
	@diff $(BIN)/generated.before $(BIN)/generated.after || { echo 'generated files were stale: commit what `make generate` has written'; exit 1; }

##@ How fast it is

.PHONY: bench
bench: ## List the benchmarks and how to run them
	@go list -f '{{.ImportPath}}: {{.Doc}}' $(addprefix ./,$(BENCHES)) | sed 's,^$(MODULE)/,go run ./,'

.PHONY: bench-smoke
bench-smoke: ## Run every benchmark once, small, to see that it works
	@set -e; for b in $(BENCHES); do echo "$$b"; $(GO) run $(FLAGS) ./$$b -smoke; done
	$(GO) run $(FLAGS) ./bench/boot-answers -smoke -product
