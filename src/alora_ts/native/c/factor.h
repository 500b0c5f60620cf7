/* Cholesky factors of matrices that are nearly of low rank. */

#ifndef ALORA_FACTOR_H
#define ALORA_FACTOR_H

#include "tile.h"

/* Rows of f (at most n, of length n) with gram = f' f up to a rest whose trace is at most `rest`.
   The row that explains most comes next (diagonal pivoting), so few rows do where few directions
   hold nearly all. `left` is room for n numbers. Gives the number of rows. */
static long factor(long n, const double *gram, double rest, double *f, double *left) {
  for (long i = 0; i < n; i++) left[i] = gram[i * n + i];
  for (long row = 0; row < n; row++) {
    double total = 0.0;
    long next = 0;
    for (long i = 0; i < n; i++) {
      total += left[i] > 0.0 ? left[i] : 0.0;
      if (left[i] > left[next]) next = i;
    }
    if (!(total > rest)) return row;
    double *own = f + row * n;
    for (long i = 0; i < n; i++) own[i] = gram[next * n + i];
    for (long before = 0; before < row; before++) {
      const double *known = f + before * n;
      const double share = known[next];
      for (long i = 0; i < n; i++) own[i] -= share * known[i];
    }
    const double scale = 1.0 / sqrt(left[next]);
    for (long i = 0; i < n; i++) own[i] *= scale;
    for (long i = 0; i < n; i++) left[i] -= own[i] * own[i];
    left[next] = 0.0; /* what rounding leaves must not be chosen again */
  }
  return n;
}

#endif
