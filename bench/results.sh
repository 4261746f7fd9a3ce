#!/usr/bin/env bash
# Measures everything and writes bench/RESULTS.md and bench/peers/figures.svg. It takes
# about half an hour; leave the machine alone meanwhile. Commit what is measured first.
#
#   bench/results.sh
#
#   TRACES         folder with public request traces, for the parts that need them (none)
#   PEER_BUDGETS   budgets of the comparison with other caches (256MiB,1GiB)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/bench" ./bench
bench="$work/bench"

# block COMMAND... runs a command and shows it with what it prints.
block() {
  printf '```console\n$ %s\n' "${shown:-$*}"
  "$@"
  printf '```\n\n'
}

# timed COMMAND... adds time and memory of the whole process, where GNU time is there.
timed() {
  if [ -x /usr/bin/time ]; then
    /usr/bin/time -f 'whole process: %e s, at most %M KiB resident' "$@" 2>&1
  else
    "$@"
  fi
}

ratios() { go test -run '^$' -bench "$1" -benchtime "$2" "$3" | grep -E '^Benchmark' | sed -E 's/ +/ /g; s/\t/ /g'; }

{
  cat <<EOF
# Results

Written by \`bench/results.sh\` at commit $(git rev-parse --short HEAD) on $(date -u +%F), one run, nothing left out. Ratios
compare within a run, turn by turn; absolute figures belong to this machine, whose processors and memory are shared with
others. Two commits are compared by \`bench/compare.sh BASE HEAD\`, which alternates their benchmarks and hands them to
benchstat.

$("$bench" throughput --budget 64KiB --block 128 --source 64KiB --rounds 1 | head -1)

## The store beside bare copies

The work and the columns are explained in [\`bench/peers\`](peers/README.md). The limit is a copy of the same bytes between the same
kinds of memory, without index, lock or order of age.

EOF
  shown="go run ./bench throughput" block "$bench" throughput
  cat <<'EOF'
## Beside other caches

Each cache has a process of its own in every round, with the limit at its side. Bars and tables are medians of ratios.

```console
EOF
  echo "\$ cd bench/peers && go run . -budget ${PEER_BUDGETS:-256MiB,1GiB} -block 6KiB,58KiB"
  printf '```\n\n![bars of ratios](peers/figures.svg)\n\n'
  (cd bench/peers && go run . -budget "${PEER_BUDGETS:-256MiB,1GiB}" -block 6KiB,58KiB -md "$work/peers.md" -json "$work/peers.json" -svg figures.svg) >&2
  cat "$work/peers.md"
  printf '\n## Scale\n\n'
  shown="go run ./bench scale" block "$bench" scale
  cat <<'EOF'
## Hashing

A prompt of 131,072 tokens in blocks of 16, as a multiple of the bare digest of the same preimages. SHA-256 is the default of
vLLM; the digests of the xxhash forms take less time than writing 16 tokens of variable width does.

EOF
  shown="go test -run '^\$' -bench Chain128k ./blockhash" block ratios Chain128k 1s ./blockhash
  cat <<'EOF'
## The connector

A decode step of 256 requests, and prefill chunks of 8,192 tokens, as multiples of a copy of the step's rows.

EOF
  shown="go test -run '^\$' -bench . ./connector" block ratios . 1s ./connector
  printf '## The simulated engine\n\n'
  shown="go run ./bench replay --trace testdata/traces/multiturn_blk16.jsonl" block "$bench" replay --trace testdata/traces/multiturn_blk16.jsonl
  if [ -n "${TRACES:-}" ]; then
    cd "$TRACES" # so that the output names no folder
    shown="go run ./bench replay --trace mooncake_conversation_trace.jsonl" block timed "$bench" replay --trace mooncake_conversation_trace.jsonl
    cat <<'EOF'
## The whole hit curve of a trace

81.6 million block references, in one pass.

EOF
    shown="go run ./bench capacity --trace agentic_claudecode_runs.jsonl" block timed "$bench" capacity --trace agentic_claudecode_runs.jsonl
  fi
} >"$work/results.md"
cp "$work/results.md" "$root/bench/RESULTS.md"
