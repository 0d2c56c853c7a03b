#!/usr/bin/env bash
# Runs every fuzz target of the module for TIME each.
#
#   fuzz.sh TIME
set -euo pipefail

for package in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "$package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" -fuzzminimizetime 1s "$package" | tail -n 2
	done
done
