# For the tables of measurements: awk -f median.awk -f TABLE.awk.

# The median of values[1..count], which are sorted by this.
function median(values, count,    i, j, x) {
  for (i = 2; i <= count; ++i) {
    x = values[i]
    for (j = i - 1; j > 0 && values[j] > x; --j) values[j + 1] = values[j]
    values[j + 1] = x
  }
  return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
}
