# A line of scripts/bench's table. Reads every run so far as "row,program,nanoseconds".
#
# row     the row; the others are skipped
# mode    medians: median, least and most; check: against another build; peers: against these
# peers   with peers: the names of their programs, in the order of the columns
# title   with peers: what the chart calls the row
# ratios  with peers: the file that gets "title|ratio|ratio..." for the chart, "-" for what has not run

function resample(from, count, into,    i) {
  for (i = 1; i <= count; ++i) into[i] = from[int(rand() * count) + 1]
}
function fixed(x, digits) { return x == "-" ? x : sprintf("%." digits "f", x) }

# Copies the runs of a program, and returns how many there are.
function take(program, into,    i) {
  for (i = 1; i <= runs[program]; ++i) into[i] = told[program, i]
  return runs[program] + 0
}

$1 == row { told[$2, ++runs[$2]] = $3 }

END {
  n = take("here", here)
  a = median(here, n)
  if (mode == "medians") {
    printf "%-16s %10.1f %10.1f %10.1f\n", row, a, here[1], here[n]
  } else if (mode == "peers") {
    line = sprintf("%-16s %10.1f", row, a)
    columns = split(peers, name, " ")
    for (i = 1; i <= columns; ++i) {
      m = take(name[i], there)
      b = m ? median(there, m) : "-"
      times = b == "-" ? b : b / a
      line = line sprintf(" %11s %8s", fixed(b, 1), fixed(times, 2))
      title = title "|" times
    }
    print line
    print title >>ratios
  } else {
    m = take("other", there)
    b = median(there, m)
    srand(1)
    for (k = 1; k <= 1000; ++k) {
      resample(here, n, x)
      resample(there, m, y)
      ratio[k] = median(x, n) / median(y, m)
    }
    median(ratio, 1000)
    slower = (ratio[25] > 1.05)
    printf "%-16s %10.1f %10.1f %8.2f   %.2f to %.2f%s\n", row, a, b, a / b, ratio[25], ratio[975],
      (slower ? "   slower" : "")
  }
}
