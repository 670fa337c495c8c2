# SPDX-License-Identifier: Apache-2.0
#
#   make build    the module and the programs, in build/
#   make demo     three HSMs, one slot; one is killed, one stopped, nothing fails
#   make test     everything that has to pass
#   make check    the same with staticcheck and longer fuzzing
#   make bench    the Go benchmarks; make bench-network: appliances beside a bare token
#   make install  what make build made, below PREFIX (/usr/local), for packages in DESTDIR
#   make deps     install what is missing (Debian packages); demo and test do it
#   make clean

BUILD ?= build
FUZZTIME ?= 20000x
TIMEOUT ?= 2400s
PACKAGES ?= 3
VERSION ?=
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory

# Go keeps its caches below the home folder, which services often lack.
ifeq ($(HOME),)
export HOME := $(or $(shell getent passwd "$$(id -u)" | cut -d: -f6),/tmp)
endif

# Where packaging/install-deps puts a Go if there is none, or an old one.
export PATH := $(HOME)/.cache/oneslot/go/bin:$(PATH)

# The checkout may belong to somebody else than the user of this build; git, and
# with it Go's stamping of versions, then refuses to look at it.
export GOFLAGS := $(GOFLAGS) -buildvcs=false
LINK := $(if $(VERSION),-ldflags '-X main.release=$(VERSION)')

.PHONY: build programs test demo check checks bench clean deps generated format vet static unit fuzz

build: $(BUILD)/oneslot-pkcs11.so programs

include module/build.mk

# Only member processes need cgo, since only they load a vendor's library.
programs:
	@mkdir -p $(BUILD)
	CGO_ENABLED=0 go build $(LINK) -o $(BUILD)/oneslot ./cmd/oneslot
	CGO_ENABLED=1 go build -o $(BUILD)/ ./cmd/oneslot-member ./cmd/oneslot-appliance

deps:
	@packaging/install-deps

demo: deps
	@$(MAKE) -s build
	@CGO_ENABLED=1 go build -o $(BUILD)/p11stress ./test/app
	@CGO_ENABLED=0 go build -o $(BUILD)/demo ./test/demo
	@exec $(BUILD)/demo

test: deps checks

check: FUZZTIME = 100000x
check: deps static checks

checks: generated format vet build unit fuzz

# What the generator writes is in the repository; it must be what it would write.
generated:
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && \
	cp -r wire module pkcs11 docs "$$copy" && go run ./wire/gen -root "$$copy" && \
	for d in wire module pkcs11 docs; do diff -ru "$$d" "$$copy/$$d" || \
	{ echo 'generated files are old: run go generate ./wire'; exit 1; }; done
	@echo 'ok: generated files'

format:
	@files=$$(gofmt -l -s $$(find . -name '*.go' -not -path './$(BUILD)/*')) && \
	if [ -n "$$files" ]; then echo "gofmt -s -w is needed for:" $$files; exit 1; fi
	@echo 'ok: gofmt'

# With the race detector, as the tests: so what both need is compiled once.
vet:
	@go vet -race ./...
	@echo 'ok: go vet'

static:
	go run $(STATICCHECK) ./...

# The tests of the module build it with the address and undefined behaviour
# sanitizers; those of whole processes have everything with the race detector. What
# they run is built once here (test/programs), where every user can read it.
#
# Many tests wait for something, so more packages are tested at a time than there
# are processors, and the longest comes first.
unit:
	@bin=$$(mktemp -d) && trap 'rm -rf "$$bin"' EXIT && chmod 755 "$$bin" && mkdir "$$bin/race" && \
	cp $(BUILD)/oneslot $(BUILD)/oneslot-member $(BUILD)/oneslot-appliance $(BUILD)/oneslot-pkcs11.so "$$bin" && \
	cp $(BUILD)/oneslot-pkcs11.so "$$bin/race" && \
	CGO_ENABLED=1 go build -o "$$bin/race/p11stress" ./test/app && \
	CGO_ENABLED=1 go build -race -ldflags=-w -o "$$bin/race/" ./cmd/oneslot ./cmd/oneslot-member ./cmd/oneslot-appliance && \
	ONESLOT_TEST_BIN="$$bin" go test -json -race -vet=off -ldflags=-w -p $(PACKAGES) -timeout $(TIMEOUT) ./test ./... | go run ./test/tally

# So many inputs, and no time: Go takes the end of a time for a failure now and then, when
# the machine is busy.
fuzz:
	@grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed 's/:func / /' | \
	while read -r file target; do \
		go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")" </dev/null >$(BUILD)/fuzz.log 2>&1 || \
		{ cat $(BUILD)/fuzz.log; exit 1; }; \
		echo "ok: $$target, $(FUZZTIME)"; \
	done

# The module finds the programs in bin beside its lib; the units name where they are. They
# are not started here, and no configuration is written.
PREFIX ?= /usr/local
DESTDIR ?=
LIBDIR ?= $(PREFIX)/lib
UNITDIR ?= $(PREFIX)/lib/systemd/system
DOCDIR ?= $(PREFIX)/share/doc/oneslot

.PHONY: install
install:
	@test -x $(BUILD)/oneslot -a -f $(BUILD)/oneslot-pkcs11.so || { echo 'nothing is built: make build' >&2; exit 1; }
	install -d $(addprefix $(DESTDIR),$(PREFIX)/bin $(LIBDIR) $(UNITDIR) $(DOCDIR))
	install -m 755 $(addprefix $(BUILD)/,oneslot oneslot-member oneslot-appliance) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(BUILD)/oneslot-pkcs11.so $(DESTDIR)$(LIBDIR)
	install -m 644 docs/*.md README.md CHANGELOG.md SECURITY.md LICENSE $(DESTDIR)$(DOCDIR)
	for unit in packaging/*.service packaging/*.socket; do \
		sed -e 's,/usr/bin/oneslot,$(PREFIX)/bin/oneslot,' -e 's,/usr/share/doc/oneslot,$(DOCDIR),' "$$unit" \
			>"$(DESTDIR)$(UNITDIR)/$${unit##*/}" && chmod 644 "$(DESTDIR)$(UNITDIR)/$${unit##*/}"; \
	done

bench:
	go test -run '^$$' -bench . -benchmem ./...

clean:
	rm -rf $(BUILD)

# Real applications and foreign test suites, where they are at hand.
.PHONY: apps
apps: build
	@test/apps/run

# Three appliances: one is killed, one a black hole, one drained. Needs root.
.PHONY: demo-network
demo-network: deps
	@$(MAKE) -s build
	@CGO_ENABLED=1 go build -o $(BUILD)/p11stress ./test/app
	@exec test/demo-network $(BUILD)

# Calls per second through three appliances, beside a token in the application's process.
.PHONY: bench-network
bench-network: deps
	@$(MAKE) -s build
	@exec test/bench/network $(BUILD)
