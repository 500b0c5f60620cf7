/* The singular directions of LANES matrices at a time, one in each lane, and what the low-rank
   penalty makes of them.

   A matrix m (n by n) becomes x' y: first with few rows of y that are orthonormal and rows of x that
   are not (Gram-Schmidt, the row of m with the largest rest first); then two rows at a time are turned
   into each other, in x and in y, until those of x are orthogonal as well (one-sided Jacobi). These
   are the singular directions, and a row of x is as long as its singular value. Single precision does
   for the turning, because each row is accurate by its own length; the rests need double. */

#ifndef ALORA_DIRECTIONS_H
#define ALORA_DIRECTIONS_H

#include "factor.h"
#include "tile.h"

#define SWEEPS 30      /* far more than are ever needed */
#define ORTHOGONAL 1e-5f /* a cosine that counts as 0 */
#define DIRECTIONS 104 /* rows; with more of them turning takes longer than other ways */

#define DOUBLES (LANES / 2)
typedef double doubles __attribute__((vector_size(4 * LANES)));

static inline double sum_of(doubles numbers) {
  double sum = 0.0;
  for (int lane = 0; lane < DOUBLES; lane++) sum += numbers[lane];
  return sum;
}

static inline double dot_of(long vectors, const doubles *a, const doubles *b) {
  doubles even = {0}, odd = {0};
  long i = 0;
  for (; i + 2 <= vectors; i += 2) {
    even += a[i] * b[i];
    odd += a[i + 1] * b[i + 1];
  }
  if (i < vectors) even += a[i] * b[i];
  return sum_of(even + odd);
}

static inline long vectors_of(long n) { return (n + DOUBLES - 1) / DOUBLES; }

/* Memory that `orthogonalise` needs, in doubles. */
static inline long workplace(long n) { return (n + 1) * vectors_of(n) * DOUBLES + n; }

/* Gram-Schmidt for one lane: m = x' y up to a rest whose squares sum to at most `rest`. Row i of x
   goes to rows + 2 * i * n * LANES and that of y n * LANES further, their numbers LANES apart. Gives the
   number of rows, or -1 if DIRECTIONS do not suffice. */
static long orthogonalise(long n, const float *m, double rest, float *rows, double *memory) {
  const long vectors = vectors_of(n);
  doubles *left = (doubles *)memory, *q = left + n * vectors; /* what is left of m; a row of y */
  double *squares = (double *)(q + vectors);                  /* -1 where nothing is left */
  memset(left, 0, sizeof(doubles) * (size_t)(n * vectors));
  for (long i = 0; i < n; i++) {
    double *own = (double *)(left + i * vectors);
    for (long j = 0; j < n; j++) own[j] = (double)m[i * n + j];
    squares[i] = dot_of(vectors, left + i * vectors, left + i * vectors);
  }
  for (long row = 0; row < n; row++, rows += 2 * n * LANES) {
    double total;
    const long next = largest(n, squares, &total);
    if (total <= rest) return row;
    if (row == DIRECTIONS) return -1;
    const doubles *chosen = left + next * vectors;
    const double length = sqrt(dot_of(vectors, chosen, chosen));
    for (long i = 0; i < vectors; i++) q[i] = chosen[i] / length;
    for (long j = 0; j < n; j++) rows[(n + j) * LANES] = (float)((double *)q)[j];
    squares[next] = -1.0;
    for (long j = 0; j < n; j++) {
      double share = j == next ? length : 0.0;
      if (squares[j] >= 0.0) {
        doubles *own = left + j * vectors;
        share = dot_of(vectors, q, own);
        for (long i = 0; i < vectors; i++) own[i] -= share * q[i];
        squares[j] = squares[j] > share * share ? squares[j] - share * share : 0.0;
      }
      rows[j * LANES] = (float)share;
    }
  }
  return n;
}

static inline vector root(vector x) {
  vector found;
  for (int lane = 0; lane < LANES; lane++) found[lane] = sqrtf(x[lane]);
  return found;
}

static inline int any(integers condition) {
  int found = 0;
  for (int lane = 0; lane < LANES; lane++) found |= condition[lane];
  return found;
}

static inline vector size_of(vector x) { return larger(x, -x); }

/* Lane by lane. */
static inline vector dots(long n, const vector *a, const vector *b) {
  vector sums[4] = {all(0.0f), all(0.0f), all(0.0f), all(0.0f)};
  long j = 0;
  for (; j + 4 <= n; j += 4)
    for (int i = 0; i < 4; i++) sums[i] += a[j + i] * b[j + i];
  for (; j < n; j++) sums[0] += a[j] * b[j];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Turn rows of x into each other until they are orthogonal, and those of y with them. `squares`
   becomes their squared lengths. */
static void turn(long n, long k, vector *rows, vector *squares) {
  for (int sweep = 0, turned = 1; turned && sweep < SWEEPS; sweep++) {
    turned = 0;
    for (long p = 0; p < k; p++) squares[p] = dots(n, rows + 2 * p * n, rows + 2 * p * n);
    for (long p = 0; p < k; p++)
      for (long q = p + 1; q < k; q++) {
        vector *a = rows + 2 * p * n, *b = rows + 2 * q * n;
        const vector off = dots(n, a, b);
        const integers needed = size_of(off) > ORTHOGONAL * root(squares[p] * squares[q]);
        if (!any(needed)) continue;
        turned = 1;
        const vector steep = (squares[q] - squares[p]) / choose(needed, 2.0f * off, all(1.0f));
        vector t = 1.0f / (size_of(steep) + root(1.0f + steep * steep));
        t = choose(needed, choose(steep < 0.0f, -t, t), all(0.0f));
        const vector c = 1.0f / root(1.0f + t * t), s = t * c;
        squares[p] -= t * off;
        squares[q] += t * off;
        for (long j = 0; j < 2 * n; j++) {
          const vector one = a[j], other = b[j];
          a[j] = c * one - s * other;
          b[j] = s * one + c * other;
        }
      }
  }
  for (long p = 0; p < k; p++) squares[p] = dots(n, rows + 2 * p * n, rows + 2 * p * n);
}

/* The truncated Geman norm for one lane: s / (s + 1), summed over all singular values s but the
   `kept` largest. Its gradient is x' diag(slopes) y: 1 / (s + 1)^2, divided by the length s of a row of
   x, which counts as `smallest` at least. */
static float geman(long k, long kept, float smallest, const float *squares, float *slopes) {
  for (long i = 0; i < k; i++) slopes[i] = 1.0f;
  for (long spared = 0; spared < smaller(kept, k); spared++) {
    long top = 0;
    while (slopes[top] == 0.0f) top++;
    for (long i = top; i < k; i++)
      if (slopes[i] != 0.0f && squares[i * LANES] > squares[top * LANES]) top = i;
    slopes[top] = 0.0f;
  }
  double total = 0.0;
  for (long i = 0; i < k; i++) {
    const float sigma = sqrtf(squares[i * LANES]), more = sigma + 1.0f;
    total += (double)(slopes[i] * sigma / more);
    slopes[i] /= more * more * (sigma > smallest ? sigma : smallest);
  }
  return (float)total;
}

#endif
