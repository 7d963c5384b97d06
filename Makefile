# Every target is one line of work; what it needs beyond Go it installs, or says what is missing.
GO      ?= go
CC_OK   := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo yes)
RACE    := $(if $(CC_OK),-race,)
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
FUZZTIME ?= 20s
SIMSEEDS ?= 4000
SOURCES := $(shell find . \( -name '*.go' -o -path './internal/web/templates/*' -o -path './internal/web/assets/*' \) -not -path './test/*' -not -path './bench/*' -not -path './tools/*' 2>/dev/null) go.mod go.sum

.PHONY: bank test-browser test-deploy explore mutate build test test-go test-clients demo lint interop suites bench fuzz sim soak docs clean

build: bin/rota
bin/rota: $(SOURCES)
	$(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o $@ ./cmd/rota

test: test-go test-clients test-browser test-deploy
test-go: build
	@[ -n "$(RACE)" ] || echo "no C compiler found: the tests run without the race detector"
	$(GO) vet ./... && GOOS=darwin $(GO) vet ./...
# The walks that stop or fail the disk at every call take a stride under the race detector, and every step without it.
ifneq ($(RACE),)
	$(GO) test -race -short -tags invariants -timeout 10m ./...
	$(GO) test -timeout 10m ./internal/group ./internal/sim ./internal/storage/...
else
	$(GO) test -tags invariants -timeout 10m ./...
endif
# What the hot paths allocate: counts that hold on a busy machine, so without the race detector, which allocates too.
	$(GO) test -run HotPath -timeout 2m .
test-clients: build
	cd test && ROTA_BIN=$(CURDIR)/bin/rota $(GO) test $(RACE) -timeout 8m ./...
	cd bench && $(GO) test -timeout 2m ./...
# The web page in Chromium, where there is one or apt-get can install it; else they skip and say so.
test-browser:
	cd test/browser && $(GO) test -timeout 8m ./...
# Alert rules and dashboard, with Prometheus's parser.
test-deploy:
	cd test/deploy && $(GO) test -timeout 5m ./...

demo: build
	cd test && $(GO) run ./demo -rota $(CURDIR)/bin/rota

lint: .cache/golangci-lint
	.cache/golangci-lint run ./...
	cd test && ../.cache/golangci-lint run -c ../.golangci.yml ./...
	cd bench && ../.cache/golangci-lint run -c ../.golangci.yml ./...
	cd test/browser && ../../.cache/golangci-lint run -c ../../.golangci.yml ./...
	cd test/deploy && ../../.cache/golangci-lint run -c ../../.golangci.yml ./...
# What make mutate breaks must still be there.
	cd tools && $(GO) test -count=1 ./mutate
.cache/golangci-lint: tools/go.mod tools/go.sum
	@mkdir -p .cache
	cd tools && $(GO) build -o ../.cache/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

fuzz:
	./tools/fuzz.sh $(FUZZTIME)

# Whether the broker gives everything back under a crowd that never rests; 15m is the real thing.
SOAK ?= 60s
soak:
	cd test && $(GO) run ./soak -for $(SOAK)

# Movers between accounts in transactions: 12,000 transfers over 20 kills of the broker. `make test` has a short form.
bank: build
	cd test && BANK=full ROTA_BIN=$(CURDIR)/bin/rota $(GO) test ./bank -count=1 -v -timeout 20m

# Rota and Apache Kafka in turn, same work: BENCH=quick is a short look, BENCH=name,name takes workloads by name (see -list).
BENCH ?= core
bench: build
	cd bench && $(GO) run . -rota $(CURDIR)/bin/rota -run $(BENCH) $(if $(filter quick,$(BENCH)),,-page $(CURDIR)/docs) $(BENCHFLAGS)

docs: build
	$(GO) test ./internal/config -run ConfigDoc -update
	$(GO) test ./internal/metrics -run MetricsDoc -update
	$(GO) test ./internal/api -run ProtocolDoc -update
	$(GO) test ./internal/explore -run "Coverage|Reports" -update
	$(GO) test ./internal/cli -run Reference -update
	cd test && ROTA_BIN=$(CURDIR)/bin/rota $(GO) test ./stories -count=1 -update

# INTEROP=full also runs what takes longer than a quarter of an hour.
INTEROP ?= 1
interop: build
	@rm -rf .cache/interop; code=0; \
	for p in interop kafka workloads suites; do \
		(cd test/$$p && INTEROP=$(INTEROP) INTEROP_PAGE=1 ROTA_BIN=$(CURDIR)/bin/rota $(GO) test -count=1 -timeout $(if $(filter full,$(INTEROP)),2h,30m)) || code=1; \
	done; \
	(cd test && BANK=full ROTA_BIN=$(CURDIR)/bin/rota $(GO) test ./bank -count=1 -timeout 20m) || code=1; \
	(cd test/sticky && INTEROP=$(INTEROP) $(GO) test -count=1 -timeout 10m) || code=1; \
	(cd test/e2e && INTEROP=$(INTEROP) $(GO) test -count=1 -timeout 10m -run TestMembersAndConsumers) || code=1; \
	(cd test && $(GO) run ./report/page) || code=1; exit $$code
# The whole suites of franz-go, kafka-go and sarama, with the broker killed in
# twenty rounds of the first: an hour.
suites: build
	cd test/suites && INTEROP=full ROTA_BIN=$(CURDIR)/bin/rota $(GO) test -count=1 -v -timeout 2h

# Every state of small worlds around a group; EXPLORE=30m sees more of them.
EXPLORE ?= 5m
explore:
	$(GO) test ./internal/explore -run Worlds -v -timeout 0 -explore.time=$(EXPLORE)

# What the tests notice when a copy of the coordinator is broken on purpose.
mutate:
	cd tools && $(GO) run ./mutate -out ../docs/MUTATIONS.md

sim:
	$(GO) test ./internal/sim -count=1 -timeout 8m -run 'Seeds$$|Histories' -v -sim.seeds $(SIMSEEDS)

clean:
	rm -rf bin .cache
