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

$1 == row && $2 == "here" { here[++n] = $3 }
$1 == row && $2 == "other" { there[++m] = $3 }
$1 == row { ++runs[$2]; of_peer[$2, runs[$2]] = $3 }

END {
  a = median(here, n)
  if (mode == "medians") {
    printf "%-16s %10.1f %10.1f %10.1f\n", row, a, here[1], here[n]
  } else if (mode == "peers") {
    line = sprintf("%-16s %10.1f", row, a)
    columns = split(peers, name, " ")
    for (i = 1; i <= columns; ++i) {
      for (k = 1; k <= runs[name[i]]; ++k) x[k] = of_peer[name[i], k]
      b = runs[name[i]] ? median(x, runs[name[i]]) : "-"
      times = b == "-" ? b : b / a
      line = line sprintf(" %11s %8s", fixed(b, 1), fixed(times, 2))
      title = title "|" times
    }
    print line
    print title >>ratios
  } else {
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
