# The table of turns.sh. Reads every run as "row,round,nanoseconds", in the order in which the rows are to be told.
#
# A ratio is the median of those of the rounds: both runs of one have been made within seconds of each other.

# How many times the speed of `base` the row has, and the least and most of it.
function ratio(row, base,    round, values, middle) {
  for (round = 1; round <= rounds; ++round) values[round] = time[base, round] / time[row, round]
  middle = median(values, rounds)
  return sprintf("%.2f (%.2f to %.2f)", middle, values[1], values[rounds])
}

!($1 in known) { known[$1]; rows[++count] = $1 }
{ time[$1, $2] = $3; if ($2 > rounds) rounds = $2 }

END {
  printf "%-16s %10s %10s %10s   %-24s %s\n", "row", "median", "least", "most", "times erl to erl", "times bare"
  for (i = 1; i <= count; ++i) {
    row = rows[i]
    for (round = 1; round <= rounds; ++round) values[round] = time[row, round]
    middle = median(values, rounds)
    is_stream = row ~ /_stream$/
    line = sprintf("%-16s %10.1f %10.1f %10.1f   %-24s %s", row, middle, values[1], values[rounds],
      ratio(row, is_stream ? "erl_stream" : "erl_call"), is_stream ? ratio(row, "bare_stream") : "-")
    sub(/ +$/, "", line)
    print line
  }
}
