/* Matrices that are nearly of low rank: a Cholesky factor of few rows, and a few eigenvalues. */

#ifndef ALORA_FACTOR_H
#define ALORA_FACTOR_H

#include "tile.h"

static double dot(long n, const double *a, const double *b) {
  double sums[8] = {0.0};
  long i = 0;
  for (; i + 8 <= n; i += 8)
    for (int lane = 0; lane < 8; lane++) sums[lane] += a[i + lane] * b[i + lane];
  double sum = 0.0;
  for (; i < n; i++) sum += a[i] * b[i];
  for (int lane = 0; lane < 8; lane++) sum += sums[lane];
  return sum;
}

/* Which of n numbers is the largest, and what those above 0 add up to. */
static long largest(long n, const double *numbers, double *total) {
  long found = 0;
  *total = 0.0;
  for (long i = 0; i < n; i++) {
    *total += numbers[i] < 0.0 ? 0.0 : numbers[i]; /* a NaN counts */
    if (numbers[i] > numbers[found]) found = i;
  }
  return found;
}

/* Rows of f (at most `most`, of length n) with s s' = f' f up to a rest whose trace is at most
   `rest`. The row that explains most comes next (diagonal pivoting), so few rows do where few
   directions hold nearly all. `left` is room for n numbers, the diagonal of the rest. Gives the
   number of rows, or -1 if they do not suffice. */
static long factor(long n, const double *s, double rest, long most, double *f, double *left) {
  for (long i = 0; i < n; i++) left[i] = dot(n, s + i * n, s + i * n);
  for (long row = 0;; row++) {
    double total;
    const long next = largest(n, left, &total);
    if (!(total > rest)) return row;
    if (row == most) return most == n ? row : -1;
    double *own = f + row * n;
    for (long i = 0; i < n; i++) own[i] = dot(n, s + next * n, s + i * n);
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
}

/* The eigenvalues of a symmetric matrix (k by k) on its diagonal, none wrong by more than `enough`,
   by rotations (Jacobi). */
static void diagonalise(long k, double *a, double enough) {
  for (int sweep = 0; sweep < 30; sweep++) {
    double beside = 0.0;
    for (long i = 0; i < k; i++)
      for (long j = 0; j < i; j++) beside += 2.0 * a[i * k + j] * a[i * k + j];
    if (!(beside > enough * enough)) return;
    for (long p = 0; p < k; p++)
      for (long q = p + 1; q < k; q++) {
        double off = a[p * k + q];
        if (off == 0.0) continue;
        double turn = (a[q * k + q] - a[p * k + p]) / (2.0 * off);
        double t = (turn < 0.0 ? -1.0 : 1.0) / (fabs(turn) + sqrt(1.0 + turn * turn));
        double c = 1.0 / sqrt(1.0 + t * t), s = t * c;
        for (long i = 0; i < k; i++) { /* rows p and q */
          double x = a[p * k + i], y = a[q * k + i];
          a[p * k + i] = c * x - s * y;
          a[q * k + i] = s * x + c * y;
        }
        for (long i = 0; i < k; i++) { /* columns p and q */
          double x = a[i * k + p], y = a[i * k + q];
          a[i * k + p] = c * x - s * y;
          a[i * k + q] = s * x + c * y;
        }
      }
  }
}

#define FEW 24 /* rows of a factor; matrices that need more are for others */

/* How many singular values of s (n by n) exceed a level, or -1 if that cannot be said for sure.
   With s s' = f' f + r, r without negative eigenvalues, each squared singular value lies between
   an eigenvalue of f f' and that plus the trace of r (Weyl). `memory`: (FEW + 1) * n. */
static long count_above(long n, const double *s, double level, double *memory) {
  double *f = memory, *left = f + FEW * n, small[FEW * FEW];
  double squares = dot(n * n, s, s), square = level * level;
  double rounding = 1e-14 * (double)n * squares + 1e-6 * square, rest = 1e-3 * square + rounding;
  long k = factor(n, s, rest, smaller(FEW, n), f, left);
  if (k < 0 || rest > 0.5 * square) return -1;
  for (long i = 0; i < k; i++)
    for (long j = 0; j <= i; j++)
      small[i * k + j] = small[j * k + i] = dot(n, f + i * n, f + j * n);
  diagonalise(k, small, 1e-6 * square);
  long count = 0;
  for (long i = 0; i < k; i++) {
    double found = small[i * k + i];
    if (found > square + rounding) count++;
    else if (!(found + rest + rounding <= square)) return -1;
  }
  return count;
}

#endif
