/* Products with laid-out weights, and attention of many heads, forward and backward.

   Every function is done by one thread and takes no lock, so that several threads may call it. A
   function that needs memory gives 0, or 1 if there was none. */

#include "directions.h"
#include "factor.h"
#include "tile.h"

/* Rows of matrices (B, H, T, w) in memory; the last stride is 1. */
typedef struct {
  float *data;
  long batch_stride, head_stride, row_stride;
} Rows;

static inline float *head_at(Rows rows, long batch, long head) {
  return rows.data + batch * rows.batch_stride + head * rows.head_stride;
}

/* Raised whenever a signature or the meaning of an argument changes; native/library.py loads its
   own number only. */
#define ALORA_ABI 2

int NAME(alora_abi)(void) { return ALORA_ABI; }

long NAME(alora_panel_width)(void) { return COLUMNS; }

void NAME(alora_pack)(long rows, long columns, const float *from, long row_stride,
                      long column_stride, float *panels) {
  pack(rows, columns, from, row_stride, column_stride, panels);
}

#define DEEP 512         /* rows of panels that are worked on at a time */
#define NEAR (1L << 17) /* floats of a left-hand side that stay in the second cache */

/* The rows of each block side by side, so that they are read one place after the other. */
static Left gathered(long rows, long depth, Left a, float *blocks) {
  Left found = {blocks, 1, ROWS, depth * ROWS};
  for (long block = 0; block < blocks_of(rows); block++) {
    long start = block_start(rows, block), end = block_start(rows, block + 1);
    for (long i = start; i < end; i++)
      for (long k = 0; k < depth; k++)
        blocks[k * ROWS + i - start] = a.data[i * a.row_stride + k * a.column_stride];
    blocks += found.block_stride;
  }
  return found;
}

/* out = a b (+ bias) (+ out). As many rows at a time as stay near meet one panel after the other. */
void NAME(alora_multiply)(long rows, long columns, const float *a, long a_row_stride,
                          long a_column_stride, Panels b, const float *bias, int add, float *out,
                          long out_row_stride, long out_panel_stride) {
  const long parts = (b.depth + DEEP - 1) / DEEP, deepest = b.depth / parts + 1;
  const long group = NEAR / deepest > 2 * ROWS ? NEAR / deepest : 2 * ROWS;
  /* Gathering costs as much as a few columns; it is left out where there is no memory for it. */
  const int worth = rows > 2 * ROWS && columns > 4 * COLUMNS;
  float *blocks = worth ? room(round_up(smaller(rows, group) + ROWS, ROWS) * deepest) : NULL;
  for (long part = 0; part < parts; part++) {
    long from = b.depth * part / parts, to = b.depth * (part + 1) / parts;
    Panels deep = {b.data + from * COLUMNS, b.panel_stride, 0, 1, to - from};
    for (long first = 0; first < rows; first += group) {
      long count = smaller(group, rows - first);
      const float *corner = a + first * a_row_stride + from * a_column_stride;
      Left left = {corner, a_row_stride, a_column_stride, 0};
      Target into = {out + first * out_row_stride, out_row_stride, part ? NULL : bias, add || part};
      if (blocks) left = gathered(count, deep.depth, left, blocks);
      product(count, columns, left, deep, into, out_panel_stride);
    }
  }
  free(blocks);
}

/* Fetch so many numbers into the cache before they are needed. */
static inline void fetch(long floats, const float *from) {
  for (long i = 0; i < floats; i += 16) __builtin_prefetch(from + i);
}

/* For each of a batch: out = a b, where b begins `b_batch_stride` further than for the one before.
   All of them meet one panel after the other. The segments of the next panel are fetched meanwhile:
   they are short and far apart, so that the CPU cannot tell by itself what comes next. */
void NAME(alora_multiply_each)(long batch, long rows, long columns, const float *a,
                               long a_batch_stride, long a_row_stride, long a_column_stride,
                               Panels b, long b_batch_stride, float *out,
                               long out_batch_stride, long out_row_stride) {
  const long needed = b.depth * COLUMNS + (batch - 1) * b_batch_stride; /* of each segment */
  for (long j = 0; j < columns; j += COLUMNS, b.data += b.panel_stride)
    for (long each = 0; each < batch; each++) {
      if (j + COLUMNS < columns)
        for (long segment = each; segment < b.segments; segment += batch)
          fetch(needed, b.data + b.panel_stride + segment * b.segment_stride);
      Panels right = b;
      right.data += each * b_batch_stride;
      product(rows, smaller(COLUMNS, columns - j),
              (Left){a + each * a_batch_stride, a_row_stride, a_column_stride, 0},
              right, (Target){out + each * out_batch_stride + j, out_row_stride, NULL, 0}, COLUMNS);
    }
}

/* mixed = weights value: a product whose right-hand side is not laid out beforehand. */
int NAME(alora_mix)(long batch, long heads, long rows, long depth, long columns, Rows weights,
                    Rows value, Rows mixed) {
  float *panels = room(depth * round_up(columns, COLUMNS));
  if (!panels) return 1;
  for (long b = 0; b < batch; b++)
    for (long h = 0; h < heads; h++) {
      pack(depth, columns, head_at(value, b, h), value.row_stride, 1, panels);
      product(rows, columns, (Left){head_at(weights, b, h), weights.row_stride, 1, 0},
              whole(panels, depth),
              (Target){head_at(mixed, b, h), mixed.row_stride, NULL, 0}, COLUMNS);
    }
  free(panels);
  return 0;
}

/* Attention works on transposed scores: a row for each key, a lane for each query. So nothing
   is ever summed or compared from lane to lane. */

/* Columns of scores become columns that sum to one. `stride`: from one key to the next. */
static void softmax(float *scores, long keys, long queries, long stride, float scale, int causal) {
  if (causal)
    for (long s = 1; s < keys; s++)
      for (long t = 0; t < smaller(s, queries); t++) scores[s * stride + t] = -INFINITY;
  for (long t = 0; t < queries; t += LANES) {
    float *column = scores + t;
    vector top = load(column), total = all(0.0f);
    for (long s = 1; s < keys; s++) top = larger(load(column + s * stride), top);
    for (long s = 0; s < keys; s++) {
      vector grown = exponential((load(column + s * stride) - top) * scale);
      store(column + s * stride, grown);
      total += grown;
    }
    vector share = 1.0f / total;
    for (long s = 0; s < keys; s++) store(column + s * stride, load(column + s * stride) * share);
  }
}

static void copy_rows(long rows, long columns, const float *from, long from_row_stride, float *to,
                      long to_row_stride) {
  for (long t = 0; t < rows; t++)
    memcpy(to + t * to_row_stride, from + t * from_row_stride, sizeof(float) * (size_t)columns);
}

/* sum += share * values, or = for the first. */
static void add_up(long floats, float share, const float *values, float *sum, int first) {
  for (long i = 0; i < floats; i += LANES) {
    vector more = load(values + i) * share;
    store(sum + i, first ? more : load(sum + i) + more);
  }
}

/* matrices = softmax(scale * query key'), mean = their mean over the heads, mixed = matrices value
   (Eq. 2), last = what the last query of each head takes of the keys. What has no place is left
   out. Matrices and mean are transposed, keys by queries. `add`: to what mixed holds already.
   `causal`: a step sees itself and the steps before it. */
int NAME(alora_attend)(long batch, long heads, long queries, long keys, long width,
                       long value_width, float scale, int causal, Rows query, Rows key, Rows value,
                       Rows matrices, Rows mean, Rows last, Rows mixed, int add) {
  const long stride = round_up(queries, LANES);
  const long wide = round_up(queries, COLUMNS), value_wide = round_up(value_width, COLUMNS);
  float *scores = room(2 * keys * stride + wide * width + keys * value_wide);
  if (!scores) return 1;
  float *sum = scores + keys * stride, *query_panels = sum + keys * stride;
  float *values = query_panels + wide * width;
  for (long b = 0; b < batch; b++) {
    for (long h = 0; h < heads; h++) {
      pack(width, queries, head_at(query, b, h), 1, query.row_stride, query_panels);
      product(keys, stride, (Left){head_at(key, b, h), key.row_stride, 1, 0},
              whole(query_panels, width), (Target){scores, stride, NULL, 0}, COLUMNS);
      softmax(scores, keys, queries, stride, scale, causal);
      if (matrices.data)
        copy_rows(keys, queries, scores, stride, head_at(matrices, b, h), matrices.row_stride);
      if (mean.data) add_up(keys * stride, 1.0f / (float)heads, scores, sum, h == 0);
      if (last.data)
        for (long s = 0; s < keys; s++) head_at(last, b, h)[s] = scores[s * stride + queries - 1];
      if (!mixed.data) continue;
      pack(keys, value_width, head_at(value, b, h), value.row_stride, 1, values);
      product(queries, value_width, (Left){scores, 1, stride, 0}, whole(values, keys),
              (Target){head_at(mixed, b, h), mixed.row_stride, NULL, add}, COLUMNS);
    }
    if (mean.data) copy_rows(keys, queries, sum, stride, head_at(mean, b, 0), mean.row_stride);
  }
  free(scores);
  return 0;
}

/* The gradient of scores, in the place of that of what softmax made of them. */
static void through_softmax(long keys, long queries, long stride, float scale, const float *matrices,
                            float *gradient) {
  for (long t = 0; t < queries; t += LANES) {
    vector dot = all(0.0f);
    for (long s = 0; s < keys; s++)
      dot += load(gradient + s * stride + t) * load(matrices + s * stride + t);
    for (long s = 0; s < keys; s++) {
      float *at = gradient + s * stride + t;
      store(at, (load(at) - dot) * load(matrices + s * stride + t) * scale);
    }
  }
}

/* The backward pass of alora_attend. `grad_matrices`, keys by queries, is the gradient of the
   matrices themselves, `share` times of which counts. Gradients of keys and values are left out
   without a place. Gradients may go to the places of what they belong to: those of a head are
   written when all of it has been read. */
int NAME(alora_attend_backward)(long batch, long heads, long queries, long keys, long width,
                            long value_width, float scale, float share, Rows query, Rows key,
                            Rows value, Rows matrices, Rows grad_mixed, Rows grad_matrices,
                            Rows grad_query, Rows grad_key, Rows grad_value) {
  const long stride = round_up(queries, LANES), wide = round_up(width, COLUMNS);
  const long transposed = round_up(queries, COLUMNS) * value_width;
  const long straight = round_up(value_width, COLUMNS) * queries;
  const long most = transposed > straight ? transposed : straight;
  float *own = room(2 * keys * stride + most + (keys + queries) * wide);
  if (!own) return 1;
  float *scores = own + keys * stride, *panels = scores + keys * stride;
  float *key_panels = panels + most, *query_panels = key_panels + keys * wide;
  /* Also the lanes that no query has. */
  memset(own, 0, sizeof(float) * (size_t)(2 * keys * stride));
  for (long b = 0; b < batch; b++)
    for (long h = 0; h < heads; h++) {
      const float *given = head_at(grad_mixed, b, h), *pull = head_at(grad_matrices, b, h);
      copy_rows(keys, queries, head_at(matrices, b, h), matrices.row_stride, own, stride);
      for (long s = 0; s < keys; s++)
        for (long t = 0; t < queries; t++)
          scores[s * stride + t] = share * pull[s * grad_matrices.row_stride + t];
      pack(value_width, queries, given, 1, grad_mixed.row_stride, panels);
      product(keys, stride, (Left){head_at(value, b, h), value.row_stride, 1, 0},
              whole(panels, value_width), (Target){scores, stride, NULL, 1}, COLUMNS);
      through_softmax(keys, queries, stride, scale, own, scores);
      pack(keys, width, head_at(key, b, h), key.row_stride, 1, key_panels);
      if (grad_key.data)
        pack(queries, width, head_at(query, b, h), query.row_stride, 1, query_panels);
      product(queries, width, (Left){scores, 1, stride, 0}, whole(key_panels, keys),
              (Target){head_at(grad_query, b, h), grad_query.row_stride, NULL, 0}, COLUMNS);
      if (grad_key.data)
        product(keys, width, (Left){scores, stride, 1, 0}, whole(query_panels, queries),
                (Target){head_at(grad_key, b, h), grad_key.row_stride, NULL, 0}, COLUMNS);
      if (grad_value.data) {
        pack(queries, value_width, given, grad_mixed.row_stride, 1, panels);
        product(keys, value_width, (Left){own, stride, 1, 0}, whole(panels, queries),
                (Target){head_at(grad_value, b, h), grad_value.row_stride, NULL, 0}, COLUMNS);
      }
    }
  free(own);
  return 0;
}

/* The low-rank penalty of each of a batch of matrices (n by n), and its gradient. `few` becomes 0
   if one of them has too many directions; then there are no results. */
int NAME(alora_penalise)(long batch, long n, const float *matrices, long kept, double smallest,
                         float *totals, float *gradients, int *few) {
  const long directions = smaller(n, DIRECTIONS), wide = round_up(n, COLUMNS);
  const long turned = (2 * n + 1) * directions * LANES;
  float *own = room(turned + 2 * workplace(n) + directions * (1 + n + wide));
  if (!own) return 1;
  vector *rows = (vector *)own, *squares = rows + 2 * n * directions;
  double *memory = (double *)(own + turned);
  float *slopes = (float *)(memory + workplace(n)), *x = slopes + directions;
  float *panels = x + directions * n;
  *few = 1;
  for (long first = 0; first < batch; first += LANES) {
    const long lanes = smaller(LANES, batch - first);
    long most = 0, ranks[LANES];
    /* Not every lane needs all rows. */
    memset(rows, 0, sizeof(vector) * (size_t)(2 * n * directions));
    for (long lane = 0; lane < lanes; lane++) {
      const float *m = matrices + (first + lane) * n * n;
      ranks[lane] = orthogonalise(n, m, smallest * smallest, (float *)rows + lane, memory);
      if (ranks[lane] > most) most = ranks[lane];
      if (ranks[lane] < 0) *few = 0;
    }
    if (!*few) break;
    turn(n, most, rows, squares);
    for (long lane = 0; lane < lanes; lane++) {
      const float *found = (float *)rows + lane;
      const long k = ranks[lane];
      totals[first + lane] = geman(k, kept, (float)smallest, (float *)squares + lane, slopes);
      for (long i = 0; i < k; i++)
        for (long j = 0; j < n; j++) x[i * n + j] = slopes[i] * found[(2 * i * n + j) * LANES];
      pack(k, n, found + n * LANES, 2 * n * LANES, LANES, panels);
      product(n, n, (Left){x, 1, n, 0}, whole(panels, k),
              (Target){gradients + (first + lane) * n * n, n, NULL, 0}, COLUMNS);
    }
  }
  free(own);
  return 0;
}

/* How many singular values of each of a batch of matrices (n by n) exceed a level; -1 where that
   cannot be said for sure. */
int NAME(alora_count_above)(long batch, long n, const float *matrices, double level,
                            int16_t *counts) {
  double *s = (double *)room(2 * (n * n + (FEW + 1) * n));
  if (!s) return 1;
  for (long b = 0; b < batch; b++, matrices += n * n) {
    for (long i = 0; i < n * n; i++) s[i] = (double)matrices[i];
    counts[b] = (int16_t)count_above(n, s, level, s + n * n);
  }
  free(s);
  return 0;
}
