# A line of scripts/bench's table. Reads every run so far as "row,program,nanoseconds".
#
# row     the row; the others are skipped
# mode    medians: median, least and most; check: against another build; peers: against CAF and Erlang
# title   with peers: what the chart calls the row
# ratios  with peers: the file that gets "title|CAF's ratio|Erlang's" for the chart, "-" for what has not run

function resample(from, count, into,    i) {
  for (i = 1; i <= count; ++i) into[i] = from[int(rand() * count) + 1]
}
function fixed(x, digits) { return x == "-" ? x : sprintf("%." digits "f", x) }

$1 == row && $2 == "here" { here[++n] = $3 }
$1 == row && $2 == "other" { there[++m] = $3 }
$1 == row && $2 == "caf" { caf[++c] = $3 }
$1 == row && $2 == "erlang" { erlang[++e] = $3 }

END {
  a = median(here, n)
  if (mode == "medians") {
    printf "%-16s %10.1f %10.1f %10.1f\n", row, a, here[1], here[n]
  } else if (mode == "peers") {
    caf_median = c ? median(caf, c) : "-"
    caf_ratio = c ? caf_median / a : "-"
    erlang_median = e ? median(erlang, e) : "-"
    erlang_ratio = e ? erlang_median / a : "-"
    printf "%-16s %10.1f %10s %8s %10s %8s\n", row, a, fixed(caf_median, 1), fixed(caf_ratio, 2),
      fixed(erlang_median, 1), fixed(erlang_ratio, 2)
    print title "|" caf_ratio "|" erlang_ratio >>ratios
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
