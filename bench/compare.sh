#!/usr/bin/env bash
# Compares the benchmarks of two commits, with benchstat.
#
#   bench/compare.sh BASE [HEAD]
#
# HEAD is the working tree if it is left out. The test binaries of both are built
# first and then take turns, so that a machine that becomes slower does so for both.
# Look at the columns in x-copy, x-bare-digest and the like: they are multiples of a bare
# copy or digest in the same run, and mean the same on every machine.
#
#   PACKAGES   packages to compare          (./store)
#   BENCH      benchmarks, as in -bench     (.)
#   COUNT      turns                        (8)
#   TIME       as in -benchtime             (300ms)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d' >&2
  exit 2
fi
work=$(mktemp -d)
trees=()
cleanup() {
  for tree in "${trees[@]}"; do git -C "$root" worktree remove --force "$tree"; done
  rm -rf "$work"
}
trap cleanup EXIT

# build NAME [COMMIT] leaves a test binary of each package in $work/NAME.
build() {
  local tree=$PWD
  if [ $# = 2 ]; then
    tree=$work/tree-$1
    git worktree add --quiet --detach "$tree" "$2"
    trees+=("$tree")
  fi
  mkdir "$work/$1"
  for package in ${PACKAGES:-./store}; do
    (cd "$tree" && go test -c -o "$work/$1/$(basename "$package").test" "$package")
  done
}
build base "$1"
build head ${2:+"$2"}

for _ in $(seq "${COUNT:-8}"); do
  for side in base head; do
    for package in ${PACKAGES:-./store}; do
      (cd "$package" && "$work/$side/$(basename "$package").test" -test.run '^$' -test.bench "${BENCH:-.}" \
        -test.benchtime "${TIME:-300ms}") >>"$work/$side.txt"
    done
  done
done
go run "$benchstat" "base=$work/base.txt" "head=$work/head.txt"
