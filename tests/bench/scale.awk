# The lines of a row of scale.sh. Reads its runs as "row,workers,nanoseconds", round by round.
#
# What is compared with one worker is the median of the rounds: the runs of a round have been made within seconds of each
# other.

!($2 in rounds) { workers[++count] = $2 }
{ row = $1; time[$2, ++rounds[$2]] = $3 }

END {
  for (i = 1; i <= count; ++i) {
    n = workers[i]
    for (k = 1; k <= rounds[n]; ++k) {
      values[k] = time[n, k]
      times[k] = time[1, k] / time[n, k]
    }
    middle = median(times, rounds[n])
    line = sprintf("%-16s %8d %10.1f %10.2f %10.2f", row, n, median(values, rounds[n]), middle, middle / n)
    if (n > 1) line = line sprintf(" (%.2f to %.2f)", times[1] / n, times[rounds[n]] / n)
    print line
  }
  printf "%-16s expected efficiency: %s\n", row, expected
}
