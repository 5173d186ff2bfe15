#!/usr/bin/env bash
# Tests scripts/bench with programs that say what they are told, in a checkout of its own: nothing is
# installed, built or measured.
#
# usage: bench_script_test.sh SOURCE_DIR
set -euo pipefail

source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
built=$work/checkout/build/release/tests/bench
mkdir -p "$work/checkout/scripts" "$work/checkout/tests/bench/peers/erlang" "$built/peers/caf" \
  "$built/peers/sobjectizer" "$work/caf/libcaf_core" "$work/sobjectizer/dev/so_5" \
  "$work/other/tests/bench" "$work/bin"
cp "$source_dir"/scripts/{bench,common.sh} "$work/checkout/scripts"
cp "$source_dir"/tests/bench/{median.awk,table.awk,scale.sh,scale.awk} "$work/checkout/tests/bench"
cp "$source_dir"/tests/bench/peers/chart.awk "$work/checkout/tests/bench/peers"
for command in "$work/checkout/scripts/setup" "$work/bin/cmake" "$work/bin/erl"; do
  printf '#!/bin/sh\nexit 0\n' >"$command"
  chmod +x "$command"
done
export PATH=$work/bin:$PATH

# says PROGRAM STREAM PING_PONG: a program with these nanoseconds, a little more or less.
says() {
  cat >"$1" <<PROGRAM
#!/usr/bin/env bash
case \$1 in
  --list) printf '%s  \n' stream ping_pong; exit ;;
  stream) ns=$2 ;;
  *) ns=$3 ;;
esac
echo "{\"ns_per_op\":\$ns.\$((RANDOM % 10)),\"ops\":1,\"version\":\"1.2\"}"
PROGRAM
  chmod +x "$1"
}

failed=0
# expect NAME STATUS PATTERN ARGUMENT...
expect() {
  local name=$1 status=$2 pattern=$3 got=0
  shift 3
  "$work/checkout/scripts/bench" "$@" >"$work/out" 2>&1 || got=$?
  if [[ $got != "$status" ]] || ! grep -qE -e "$pattern" "$work/out"; then
    cat "$work/out"
    echo "FAIL: $name: status $got, expected $status and /$pattern/"
    failed=1
  fi
}
says "$built/ergon-bench" 40 100
says "$work/other/tests/bench/ergon-bench" 40 100
expect 'a row' 0 '^stream +40\.[0-9] +40\.[0-9] +40\.[0-9]$' --rounds 3 stream
expect 'as quick' 0 '^stream .* (0\.9[89]|1\.0[0-2]) ' --rounds 5 --check "$work/other" stream ping_pong
says "$work/other/tests/bench/ergon-bench" 30 100
expect 'one is slower' 1 'slower than .* by more than 5 %: stream$' --rounds 5 --check "$work/other" \
  stream ping_pong
expect 'every run in a file' 0 '' --rounds 2 --csv "$work/runs.csv" stream
[[ $(wc -l <"$work/runs.csv") == 3 ]] || { echo "FAIL: runs.csv"; failed=1; }
expect 'no such row' 1 "no row 'rubbish'" rubbish
expect 'no number' 1 "'0' is no number" --rounds 0
expect 'no program' 1 "no program '/nowhere'" --check /nowhere
expect 'no folder for the file' 1 'csv' --csv /nowhere/at/all.csv stream

# Peers: one that has both workloads, one without ping_pong.
says "$built/peers/caf/ergon-bench-caf" 80 300
erlang=$work/checkout/tests/bench/peers/erlang/ergon-bench-erlang
says "$erlang" 160 1
sed -i 's/ stream ping_pong;/ stream;/' "$erlang"
expect 'peers' 0 '^stream +40\.[0-9] +80\.[0-9] +(1\.9|2\.0)[0-9] +160\.[0-9] +(3\.9|4\.0)[0-9]$' \
  --peers --rounds 3 --csv "$work/peers.csv" --svg "$work/peers.svg" stream ping_pong
grep -qE '^ping_pong +100\.[0-9] +300\.[0-9] +[23]\.[09][0-9] +- +-$' "$work/out" ||
  { cat "$work/out"; echo "FAIL: a workload that a peer has not"; failed=1; }
[[ $(grep -c '^stream,erlang,160' "$work/peers.csv")-$(wc -l <"$work/peers.csv") == 3-16 ]] ||
  { cat "$work/peers.csv"; echo "FAIL: peers.csv"; failed=1; }

# well_formed FILE: every tag is closed, in order; no stray character.
well_formed() {
  tr '\n' ' ' <"$1" | sed 's/</\n</g' | awk '
    function wrong(what) { print FILENAME what ": " $0; bad = 1 }
    NR == 1 { if (length($0)) wrong("text before the first tag"); next }
    !/^<\/?[a-z]+( [a-zA-Z0-9:-]+="[^"<&]*")* *\/?>[^<>]*$/ { wrong("no tag") }
    /&/ && !/&(amp|lt|gt);/ { wrong("a bare &") }
    /^<\// { name = $0; gsub(/^<\/|>.*/, "", name); if (open[depth--] != name) wrong("closes another"); next }
    !/\/>[^<>]*$/ { name = $0; gsub(/^<|[ >].*/, "", name); open[++depth] = name }
    END { if (depth != 0) wrong("not closed"); exit bad }'
}
well_formed "$work/peers.svg" || { echo "FAIL: peers.svg is not well formed"; failed=1; }
# A rectangle for each ratio, besides the page and the two of the legend; the third as wide as it is.
[[ $(grep -c '<rect ' "$work/peers.svg") == 6 ]] || { echo "FAIL: bars of peers.svg"; failed=1; }
for text in 'CAF 1\.2' 'Erlang/OTP 1\.2' '(3\.9|4\.0) ×' '>–<' 'one sends, one receives' 'scripts/bench --peers'; do
  grep -qE "$text" "$work/peers.svg" || { echo "FAIL: no /$text/ in peers.svg"; failed=1; }
done
awk -F'|' -v peers='caf erlang' -v called='CAF|Erlang' -f "$source_dir/tests/bench/peers/chart.awk" \
  <<<'a < b & c|1|-' >"$work/marks.svg"
well_formed "$work/marks.svg" || { echo "FAIL: marks in a title"; failed=1; }
well_formed <(echo '<a><b></a>') >"$work/out" && { echo "FAIL: well_formed accepts anything"; failed=1; }

# Peers from sources: SObjectizer is a column, and a bar, of its own; CAF takes the place of Debian's.
touch "$work/caf/libcaf_core/CMakeLists.txt" "$work/sobjectizer/dev/so_5/CMakeLists.txt"
says "$built/peers/sobjectizer/ergon-bench-sobjectizer" 120 1
printf '#!/bin/sh\necho "$*" >>%q\n' "$work/built" >"$work/bin/cmake"
expect 'peers from sources' 0 \
  '^stream +40\.[0-9] +80\.[0-9] +(1\.9|2\.0)[0-9] +120\.[0-9] +(2\.9|3\.0)[0-9] +160\.[0-9] +(3\.9|4\.0)[0-9]$' \
  --peers --caf "$work/caf" --sobjectizer "$work/sobjectizer" --rounds 3 --svg "$work/four.svg" stream
grep -qE '^row +ergon +CAF +ratio +SObjectizer +ratio +Erlang +ratio$' "$work/out" ||
  { cat "$work/out"; echo "FAIL: names of columns"; failed=1; }
for text in "-S $work/caf -B .*-DBUILD_SHARED_LIBS=OFF" "--build .*/build/peers/caf --target install" \
  "-S $work/sobjectizer/dev -B " "--preset release .*-DERGON_CAF_PREFIX=.*/build/peers/caf/installed "; do
  grep -qE -e "$text" "$work/built" || { cat "$work/built"; echo "FAIL: no /$text/"; failed=1; }
done
well_formed "$work/four.svg" || { echo "FAIL: four.svg is not well formed"; failed=1; }
[[ $(grep -c '<rect ' "$work/four.svg") == 7 ]] || { echo "FAIL: bars of four.svg"; failed=1; }
grep -q 'SObjectizer 1\.2' "$work/four.svg" || { echo "FAIL: no SObjectizer in four.svg"; failed=1; }
expect 'no sources' 1 "--caf: no sources of CAF in '$work/bin'" --peers --caf "$work/bin" stream
expect 'no sources named' 1 "--sobjectizer: no sources of SObjectizer in ''" --peers --sobjectizer
expect 'sources of nothing to compare with' 1 'for --peers only' --caf "$work/caf" stream
printf '#!/bin/sh\necho "no compiler"\nexit 1\n' >"$work/bin/cmake"
expect 'sources that cannot be built' 1 "caf cannot be built from '$work/caf', see .*/build/peers/caf.log: no compiler" \
  --peers --caf "$work/caf" stream
printf '#!/bin/sh\nexit 0\n' >"$work/bin/cmake"

printf '#!/bin/sh\necho "no memory" >&2\necho "stream "\nexec test "%s" = --list\n' "\$1" >"$erlang"
expect 'a peer fails' 1 "erlang: 'stream n=1000000' has failed with status 1" --peers --rounds 1 stream
grep -q '^no memory$' "$work/out" || { echo "FAIL: what the peer said"; failed=1; }
printf '#!/bin/sh\necho "stream "\n' >"$erlang"
expect 'a peer without a result' 1 "erlang: 'stream n=1000000' told no result" --peers --rounds 1 stream
rm "$built/peers/caf/ergon-bench-caf" "$work/bin/erl"
says "$erlang" 160 1
expect 'no CAF' 0 '^== no CAF' --peers --rounds 1 stream
grep -qE '^stream +40\.[0-9] +- +- ' "$work/out" || { cat "$work/out"; echo "FAIL: no CAF"; failed=1; }
expect 'a chart of what' 1 "a chart with --peers only" --svg "$work/x.svg" stream
expect 'no folder for the chart' 1 "svg: .*'/nowhere/at/all.svg'" --peers --svg /nowhere/at/all.svg stream
expect 'no chart named' 1 "--svg: no file named" --peers --svg
expect 'two comparisons' 1 'one at a time' --peers --check "$work/other"

mkdir "$work/checkout/tests/bench/network"
printf '#!/bin/sh\necho "turns: $*"\n' >"$work/checkout/tests/bench/network/turns.sh"
chmod +x "$work/checkout/tests/bench/network/turns.sh"
printf '#!/bin/sh\n' >"$work/bin/escript"
chmod +x "$work/bin/escript"
expect 'network' 0 '^turns: .*/network/ergon-bench-network 5 10000 3000000$' --network
expect 'network, other rounds' 0 '^turns: .* 2 10000 3000000 .*/n.csv$' --network --rounds 2 --csv "$work/n.csv"
expect 'network and peers' 1 'a comparison of its own' --network --peers
expect 'network and a row' 1 'rows of its own: without stream' --network stream
printf '#!/bin/sh\necho "watched: $*"\n' >"$work/checkout/tests/bench/watched.sh"
chmod +x "$work/checkout/tests/bench/watched.sh"
expect 'watched' 0 '^watched: .*/tests/bench/ergon-bench 9 50$' --watched
expect 'watched, other rounds' 0 '^watched: .* 2 50 .*/w.csv$' --watched --rounds 2 --csv "$work/w.csv"
expect 'watched and network' 1 'a comparison of its own' --watched --network
expect 'watched and a row' 1 'rows of its own: without stream' --watched stream

# More workers: a program that takes 120 ns with one, and less with more, but no row is more than twice as fast.
cat >"$built/ergon-bench" <<'PROGRAM'
#!/usr/bin/env bash
echo "$*" >>"$(dirname "$0")/told"
case ${*: -1} in
  workers=1) ns=120 ;;
  workers=2) ns=80 ;;
  *) ns=60 ;;
esac
echo "{\"ns_per_op\":$ns.0,\"ops\":1}"
PROGRAM
# processors N: so many there are.
processors() {
  printf '#!/bin/sh\necho %s\n' "$1" >"$work/bin/nproc"
  chmod +x "$work/bin/nproc"
}
processors 6
expect 'scale' 0 '^pool +2 +80\.0 +1\.50 +0\.75 \(0\.75 to 0\.75\)$' --scale --rounds 2 --csv "$work/s.csv" pool skynet
for line in '^pool +1 +120\.0 +1\.00 +1\.00$' '^pool +4 +60\.0 +2\.00 +0\.50 ' '^skynet +6 +60\.0 +2\.00 +0\.33 ' \
  '^pool +expected efficiency: sinks: '; do
  grep -qE "$line" "$work/out" || { cat "$work/out"; echo "FAIL: scale: no /$line/"; failed=1; }
done
[[ $(grep -c '^pool,6,60.0$' "$work/s.csv")-$(wc -l <"$work/s.csv") == 2-17 ]] ||
  { cat "$work/s.csv"; echo "FAIL: s.csv"; failed=1; }
# By turns, with a pool that is as large as the machine.
[[ $(sed -n 's/^pool .*producers=6 pool_workers=6 n=66666 workers=//p' "$built/told" | tr '\n' ' ') == '1 2 4 6 1 2 4 6 ' ]] ||
  { cat "$built/told"; echo "FAIL: scale: what was told"; failed=1; }
processors 1
expect 'one processor' 0 '^there is one processor: ' --scale --rounds 1
[[ $(grep -cE '^[a-z_0-9]+ +1 +120\.0 +1\.00 +1\.00$' "$work/out") == 7 ]] ||
  { cat "$work/out"; echo "FAIL: scale with one processor"; failed=1; }
printf '#!/bin/sh\nexit 3\n' >"$built/ergon-bench"
expect 'scale fails' 1 "scale.sh: 'fan_in n=100000 workers=1' has failed" --scale --rounds 1 fan_in
printf '#!/bin/sh\n' >"$built/ergon-bench"
expect 'scale without a result' 1 "'fan_in n=100000 workers=1' told no result" --scale --rounds 1 fan_in
expect 'scale and peers' 1 'scale is a comparison of its own' --scale --peers
expect 'scale and network' 1 'is a comparison of its own' --network --scale
expect 'scale and a row' 1 "the work of 'ring_1' cannot be spread; there are ping_pong_100, stream_1000," --scale ring_1
expect 'scale, no number' 1 "'x' is no number" --scale --rounds x
# Words of a row that only Ergon understands are for nobody else.
says "$built/ergon-bench" 40 40
mkdir -p "$built/peers/caf"
says "$built/peers/caf/ergon-bench-caf" 80 80
says "$erlang" 160 160
for program in "$built/ergon-bench" "$built/peers/caf/ergon-bench-caf" "$erlang"; do
  sed -i -e 's/ stream ping_pong;/ pool;/' -e "2i echo \"\${0##*-} \$*\" >>'$work/words'" "$program"
done
expect 'words of Ergon alone' 0 '^pool_yield +40\.[0-9] +80\.[0-9] .* 160\.[0-9]' --peers --rounds 1 pool_yield
[[ $(grep -v -e --list "$work/words" | sort | tr '\n' ' ') == \
  'bench pool n=100000 yield_on_send=1 caf pool n=100000 erlang pool n=100000 ' ]] ||
  { cat "$work/words"; echo "FAIL: words of Ergon alone"; failed=1; }

exit $failed
