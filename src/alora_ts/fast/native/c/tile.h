/* A small piece of a matrix product, kept in registers; and the exponential function.

   Everything is written for vectors of LANES floats in the vector extension that GCC and Clang
   share, and compiled once for each instruction set (see hatch_build.py). NAME gives each copy
   of a function a name of its own. */

#ifndef ALORA_TILE_H
#define ALORA_TILE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX512F__)
#define NAME(name) name##_avx512
#define LANES 16
#define ROWS 12 /* of a tile: two vectors each, beside the operands, fill the registers */
#elif defined(__AVX2__)
#define NAME(name) name##_avx2
#define LANES 8
#define ROWS 6
#else
#define NAME(name) name##_plain
#define LANES 4
#if defined(__aarch64__)
#define ROWS 12
#else
#define ROWS 6
#endif
#endif

#define COLUMNS (2 * LANES) /* of a tile, and so of a panel */

/* Before loops over what is to stay in registers. */
#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 12")
#endif

typedef float vector __attribute__((vector_size(4 * LANES)));
typedef int32_t integers __attribute__((vector_size(4 * LANES)));
typedef float anywhere __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static inline vector load(const float *at) { return *(const anywhere *)at; }
static inline void store(float *at, vector values) { *(anywhere *)at = values; }
static inline vector all(float value) { return (vector){0} + value; }

/* Lane by lane, a where the condition is true and b elsewhere. */
static inline vector choose(integers condition, vector a, vector b) {
  return (vector)((condition & (integers)a) | (~condition & (integers)b));
}
static inline vector larger(vector a, vector b) {
  vector found; /* lane by lane, which compilers know to be one instruction */
  for (int lane = 0; lane < LANES; lane++) found[lane] = a[lane] > b[lane] ? a[lane] : b[lane];
  return found;
}

static inline long smaller(long a, long b) { return a < b ? a : b; }
static inline long round_up(long count, long to) { return (count + to - 1) / to * to; }

/* Copy fewer than COLUMNS numbers, in pieces that compilers need no call for. */
static inline void copy_few(long count, const float *from, float *to) {
#define PIECE(size)                             \
  if (count & size) {                           \
    memcpy(to, from, sizeof(float) * (size));   \
    to += size, from += size;                   \
  }
  PIECE(16) PIECE(8) PIECE(4) PIECE(2) PIECE(1)
#undef PIECE
}

/* e^x to about one unit in the last place, for x up to 0; 0 where that is smaller than a normal
   number. A NaN stays one. */
static inline vector exponential(vector x) {
  /* Adding 1.5 * 2^23 leaves the nearest whole number in the lowest bits. */
  const vector shift = all(12582912.0f);
  vector rounded = x * all(1.44269504f) + shift;
  integers power = (integers)rounded << 23;
  vector whole = rounded - shift;
  vector r = x - whole * all(0.693359375f) - whole * all(-2.12194440e-4f); /* ln 2, in two parts */
  vector p = all(1.9875691500e-4f);
  p = p * r + all(1.3981999507e-3f);
  p = p * r + all(8.3334519073e-3f);
  p = p * r + all(4.1665795894e-2f);
  p = p * r + all(1.6666665459e-1f);
  p = p * r + all(5.0000001201e-1f);
  p = p * r * r + r + all(1.0f);
  vector found = p * (vector)(power + (integers)all(1.0f));
  return choose(x < all(-87.3f), all(0.0f), found);
}

/* The right-hand side of a product: panels of COLUMNS columns (the last one may be narrower and is
   filled up), each with its rows one after the other. The rows may lie in several segments. */
typedef struct {
  const float *data;
  long panel_stride;
  long segment_stride; /* from one segment of a panel to the next */
  long segments;
  long depth; /* rows of a segment */
} Panels;

/* The left-hand side: any two strides. Rows are worked on in blocks of nearly one size. */
typedef struct {
  const float *data;
  long row_stride, column_stride;
  long block_stride; /* if blocks do not follow one another as rows do, else 0 */
} Left;

static inline long blocks_of(long rows) { return (rows + ROWS - 1) / ROWS; }
static inline long block_start(long rows, long block) { return rows * block / blocks_of(rows); }

static inline __attribute__((always_inline)) void
sum_products(const int rows, const int vectors, const long row_stride, Left a, Panels b,
             vector sums[ROWS][2]) {
  UNROLLED
  for (int i = 0; i < rows; i++) sums[i][0] = sums[i][1] = all(0.0f);
  const float *left = a.data;
  for (long segment = 0; segment < b.segments; segment++) {
    const float *right = b.data + segment * b.segment_stride;
    for (long k = 0; k < b.depth; k++) {
      vector first = load(right), second = vectors > 1 ? load(right + LANES) : first;
  UNROLLED
      for (int i = 0; i < rows; i++) {
        sums[i][0] += left[i * row_stride] * first;
        if (vectors > 1) sums[i][1] += left[i * row_stride] * second;
      }
      left += a.column_stride;
      right += COLUMNS;
    }
  }
}

/* Where a tile goes, and what is added to it. */
typedef struct {
  float *data;
  long row_stride;
  const float *bias; /* one number for each column, or NULL */
  int add;           /* to what is there already */
} Target;

static inline __attribute__((always_inline)) void
tile(const int rows, const int vectors, long columns, Left a, Panels b, Target out) {
  vector sums[ROWS][2];
  if (a.row_stride == 1) sum_products(rows, vectors, 1, a, b, sums); /* one place after the other */
  else sum_products(rows, vectors, a.row_stride, a, b, sums);
  const int whole = columns == vectors * LANES;
  float edge[COLUMNS], added[COLUMNS]; /* where not all lanes count */
  const float *bias = whole ? out.bias : added;
  if (!whole && out.bias) copy_few(columns, out.bias, added);
  UNROLLED
  for (int i = 0; i < rows; i++) {
    float *place = out.data + i * out.row_stride, *at = whole ? place : edge;
    if (!whole && out.add) copy_few(columns, place, edge);
    UNROLLED
    for (int v = 0; v < vectors; v++) {
      vector sum = sums[i][v];
      if (out.bias) sum += load(bias + v * LANES);
      if (out.add) sum += load(at + v * LANES);
      store(at + v * LANES, sum);
    }
    if (!whole) copy_few(columns, edge, place);
  }
}

static void any_tile(int rows, long columns, Left a, Panels b, Target out) {
#define CASE(n)                                     \
  case n:                                           \
    if (columns > LANES) tile(n, 2, columns, a, b, out); \
    else tile(n, 1, columns, a, b, out);            \
    break;
  switch (rows) {
    CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6)
#if ROWS == 12
    CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
#endif
  }
#undef CASE
}

/* out = a b: rows by columns. `panel_stride`: of the result. */
static void product(long rows, long columns, Left a, Panels b, Target out, long panel_stride) {
  for (long j = 0; j < columns; j += COLUMNS) {
    for (long block = 0; block < blocks_of(rows); block++) {
      long start = block_start(rows, block), end = block_start(rows, block + 1);
      Left part = a;
      part.data += a.block_stride ? block * a.block_stride : start * a.row_stride;
      Target into = {out.data + start * out.row_stride, out.row_stride, out.bias, out.add};
      any_tile((int)(end - start), smaller(COLUMNS, columns - j), part, b, into);
    }
    b.data += b.panel_stride;
    out.data += panel_stride;
    if (out.bias) out.bias += COLUMNS;
  }
}

/* Lay a matrix out in panels, rows by columns, given by its two strides; unused columns are 0. */
static void pack(long rows, long columns, const float *from, long row_stride, long column_stride,
                 float *panels) {
  for (long j = 0; j < columns; j += COLUMNS) {
    long width = smaller(COLUMNS, columns - j);
    const float *corner = from + j * column_stride;
    if (width < COLUMNS) memset(panels, 0, sizeof(float) * (size_t)(rows * COLUMNS));
    if (column_stride == 1 && width == COLUMNS)
      for (long k = 0; k < rows; k++) {
        store(panels + k * COLUMNS, load(corner + k * row_stride));
        store(panels + k * COLUMNS + LANES, load(corner + k * row_stride + LANES));
      }
    else if (column_stride == 1)
      for (long k = 0; k < rows; k++)
        copy_few(width, corner + k * row_stride, panels + k * COLUMNS);
    else /* along the memory of the source, a few rows at a time that stay near */
      for (long first = 0; first < rows; first += COLUMNS)
        for (long i = 0; i < width; i++)
          for (long k = first; k < smaller(first + COLUMNS, rows); k++)
            panels[k * COLUMNS + i] = corner[i * column_stride + k * row_stride];
    panels += rows * COLUMNS;
  }
}

static inline Panels whole(const float *panels, long depth) {
  return (Panels){panels, depth * COLUMNS, 0, 1, depth};
}

static inline float *room(long floats) {
  return aligned_alloc(64, (size_t)round_up(sizeof(float) * floats + 1, 64));
}

#endif
