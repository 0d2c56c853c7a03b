# Everything a contributor runs. "make help" lists it.

BIN      := bin/console
CACHE    := $(CURDIR)/.cache
PACKAGES  = $(shell go list ./... | grep -v '/e2e$$')
FUZZTIME := 5s
BENCH    := .
BENCHTIME := 1s

# Where git cannot read the checkout, the program is built without its revision.
BUILDFLAGS := $(shell git rev-parse HEAD >/dev/null 2>&1 || echo -buildvcs=false)

.PHONY: help run demo screenshots build generate check lint test test-unit test-pages test-engines race e2e browser faults bench fuzz-smoke detect-score

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## start the console; ARGS="--addr 127.0.0.1:9000" passes flags
	exec $(BIN) serve $(ARGS)

demo: build ## a console full of recorded sessions, without any engine; DEMO="--addr 127.0.0.1:9000" passes flags
	go run ./e2e/demo $(DEMO)

screenshots: build browser ## the pictures in docs/, taken of the demo
	go run ./e2e/demo --addr 127.0.0.1:0 --shots docs/screenshots

build: ## build bin/console
	go build $(BUILDFLAGS) -o $(BIN) ./cmd/console

generate: ## write the *_templ.go files
	go tool templ generate -log-level warn

test: browser check test-unit test-pages ## everything a change must pass

# The committed *_templ.go must be what templ makes of the .templ files.
check: lint
	@before=$$(cat $$(find views -name '*_templ.go' | sort) | cksum); \
	$(MAKE) --no-print-directory generate; \
	after=$$(cat $$(find views -name '*_templ.go' | sort) | cksum); \
	if [ "$$before" != "$$after" ]; then \
		echo 'The *_templ.go files were not up to date. They are now: commit them.' >&2; exit 1; \
	fi

lint: ## gofmt, vet, staticcheck
	@unformatted=$$(gofmt -l $$(find . -name '*.go' -not -path './.cache/*')); \
	if [ -n "$$unformatted" ]; then echo "Run gofmt -w on:" $$unformatted >&2; exit 1; fi
	go vet ./...
	go tool staticcheck ./...

test-unit: ## the tests without a browser; how many lives of messages they went through is printed
	go test -p 2 -skip '^TestLives' $(PACKAGES)
	go test -run '^TestLives' -v ./desk

# Most of these tests wait for something, so two halves of them run side by side.
PAGES := CONSOLE_BIN=$(CURDIR)/$(BIN) E2E_REQUIRED=1 go test -timeout 45m
test-pages: build browser ## the pages in the browsers; RUN=TestBanner picks some
ifdef RUN
	$(PAGES) -run '$(RUN)' -count=1 -v ./e2e
else
	@echo 'the tests of the pages, in two halves'; \
	$(PAGES) -run '^Test[PTW]' ./e2e & first=$$!; \
	$(PAGES) -run '^Test[^PTW]' ./e2e; second=$$?; \
	wait $$first && exit $$second
endif

e2e: test-pages ## the same as test-pages

browser: ## install what the pages' tests need: Chromium, playwright's driver, tmux
	@e2e/browser.sh $(CACHE)

test-engines: build browser ## the real engines, installed from npm into .cache/engines
	@e2e/engines.sh $(CACHE)/engines
	ENGINES_DIR=$(CACHE)/engines/bin CONSOLE_BIN=$(CURDIR)/$(BIN) E2E_REQUIRED=1 \
		go test -count=1 -p 1 -timeout 60m -tags engines -run 'Engine|Real' -v ./runner/... ./e2e

race: browser ## all tests with the race detector; the pages' tests run a console built with it
	go build $(BUILDFLAGS) -race -o $(BIN)-race ./cmd/console
	go test -race -p 2 -timeout 30m $(PACKAGES)
	CONSOLE_BIN=$(CURDIR)/$(BIN)-race E2E_REQUIRED=1 go test -timeout 90m ./e2e

faults: build browser ## kill processes at random points; KILLS=1000 is how often
	CONSOLE_BIN=$(CURDIR)/$(BIN) E2E_REQUIRED=1 FAULTS=$(or $(KILLS),200) go test -count=1 -timeout 60m -run 'TestTmuxFaults' -v ./e2e

bench: build browser ## benchmarks, each with its floor beside it
	CONSOLE_BIN=$(CURDIR)/$(BIN) E2E_REQUIRED=1 \
		go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem -p 1 -timeout 20m ./...

fuzz-smoke: ## every fuzz target for FUZZTIME
	@e2e/fuzz.sh $(FUZZTIME)

detect-score: ## how many recorded screens are read as what they are
	go test -count=1 -run 'Score' -v ./detect
