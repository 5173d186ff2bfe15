# An SVG of how many times as fast as its peers Ergon is. Reads "title|ratio|ratio...", a ratio for each peer; "-" is none.
#
# peers    their names, separated by spaces, which choose the colours: caf, sobjectizer, erlang
# called   what the legend calls them, separated by "|"
# rounds   runs of each row
# command  what draws such a chart

function escaped(text) {
  gsub(/&/, "\\&amp;", text)
  gsub(/</, "\\&lt;", text)
  gsub(/>/, "\\&gt;", text)
  return text
}
function text(x, y, class, what) {
  printf "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, class, escaped(what)
}
function times(ratio) { return sprintf(ratio < 9.95 ? "%.1f ×" : "%.0f ×", ratio) }
function bar(y, class, ratio,    width) {
  if (ratio == "-") {
    text(left + 4, y + 9.5, "value", "–")
    return
  }
  width = ratio * unit
  printf "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"11\" rx=\"1.5\" class=\"%s\"/>\n", left, y, width, class
  text(left + width + 5, y + 9.5, "value", times(ratio))
}
function legend(x, class, what) {
  printf "<rect x=\"%d\" y=\"51\" width=\"11\" height=\"11\" rx=\"1.5\" class=\"%s\"/>\n", x, class
  text(x + 17, 60.5, "label", what)
}

BEGIN {
  bars = split(peers, class, " ")
  split(called, label, "|")
}

{
  title[NR] = $1
  for (i = 1; i <= bars; ++i) {
    ratio[NR, i] = $(i + 1)
    if ($(i + 1) != "-" && $(i + 1) + 0 > most) most = $(i + 1) + 0
  }
}

END {
  if (most < 2) most = 2
  left = 230
  width = 760
  top = 84
  pitch = 10 + 13 * bars
  unit = (width - left - 60) / most
  height = top + NR * pitch + 68
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" ", width,
    height, width, height
  print "role=\"img\" aria-labelledby=\"title\">"
  print "<title id=\"title\">How many times as fast as its peers Ergon is</title>"
  print "<style>"
  print "text { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 13px }"
  print ".page { fill: #ffffff } .heading { font-size: 17px; font-weight: 600 } .name { text-anchor: end }"
  print ".heading, .name, .label { fill: #1f2328 } .value, .small { font-size: 11px; fill: #59636e }"
  print ".caf { fill: #0072b2 } .erlang { fill: #d55e00 }"
  print ".sobjectizer { fill: #009e73 } .one { stroke: #59636e; stroke-dasharray: 3 3 }"
  print "@media (prefers-color-scheme: dark) {"
  print "  .page { fill: #0d1117 } .heading, .name, .label { fill: #e6edf3 } .value, .small { fill: #9198a1 }"
  print "  .caf { fill: #56b4e9 } .erlang { fill: #e69f00 }"
  print "  .sobjectizer { fill: #2fc49a } .one { stroke: #9198a1 }"
  print "}"
  print "</style>"
  printf "<rect width=\"%d\" height=\"%d\" class=\"page\"/>\n", width, height
  text(16, 30, "heading", "How many times as fast as its peers Ergon is")
  for (i = 1; i <= bars; ++i) legend(left + 170 * (i - 1), class[i], label[i])
  for (i = 1; i <= NR; ++i) {
    y = top + (i - 1) * pitch
    text(left - 10, y + 6.5 * bars + 3, "name", title[i])
    for (k = 1; k <= bars; ++k) bar(y + 13 * (k - 1), class[k], ratio[i, k])
  }
  x = left + unit
  printf "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" class=\"one\"/>\n", x, top - 8, x, top + NR * pitch - 4
  text(x + 4, top + NR * pitch + 4, "small", "1 ×: as fast as Ergon")
  text(16, height - 32, "small", "A peer's time by Ergon's: medians of " rounds " runs of each, by turns, two threads, one machine.")
  text(16, height - 14, "small", "To repeat it: " command)
  print "</svg>"
}
