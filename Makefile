# SPDX-License-Identifier: Apache-2.0
BUILD ?= build
include module/build.mk

.PHONY: build
build: $(BUILD)/oneslot-pkcs11.so
	CGO_ENABLED=0 go build -o $(BUILD)/oneslot ./cmd/oneslot
	go build -o $(BUILD)/oneslot-member ./cmd/oneslot-member
