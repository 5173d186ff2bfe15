#!/usr/bin/env bash
# Tests the example queue_service, whose program is the first argument.
. "$(dirname "$0")/checks.sh"

same_as_deque() { is "$status" 0 && silent && prints '^all as with a std::deque'; }

run --operations 20000
check 'a small run' same_as_deque
check 'says how many' prints '^20000 operations of 8 customers in '
run -n 1 -c 1
check 'one operation' same_as_deque
run -n 10 -c 100
check 'more customers than operations' same_as_deque
run -n 20001 -c 7 -s 1000000000000000000
check 'another seed and an uneven share' same_as_deque
check 'all of the uneven share' prints '^20001 operations of 7 customers'

"$program" -n 100 >/dev/full 2>err
check 'a full disk: exit status 1' is "$?" 1
check 'reported' says 'queue_service: cannot write to standard output: No space left on device'
run_unread -n 100
check 'nobody reads the output: exit status 1' is "$status" 1
check 'and it is reported' says 'queue_service: cannot write to standard output: Broken pipe'

run --help
check 'help' is "$status" 0
check 'help explains' prints '^  -n,--operations N '
for wrong in '--operations 0' '-n x' '-n nan' '-n 1e99' '-c 0' '-s nan' '-c 10001' '-s -1' '-s 18446744073709551616' '--nonsense' 'argument'; do
  # shellcheck disable=SC2086
  run $wrong
  check "wrong: $wrong" is "$status" 2
  check "wrong: $wrong is explained" says "Try 'queue_service --help'."
done

for signal in INT TERM; do
  start -n 100000000
  # Its node has threads, so it has begun; it has work for minutes.
  until [[ $(find "/proc/$background/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l) -gt 3 ]]; do
    kill -0 "$background" 2>/dev/null || break
    read -rt 0.01 <> <(:) || true
  done
  kill -"$signal" "$background"
  await_end
  check "SIG$signal ends it in order" is "$status" "$([[ $signal == INT ]] && echo 130 || echo 143)"
  check "SIG$signal: it says so" prints ', then interrupted, in '
  check "SIG$signal: what was done is right" prints '^all as with a std::deque'
done

finish
