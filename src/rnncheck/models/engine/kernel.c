/* One letter read by one recurrent layer in many rows, in float32: products, gates and new state in one pass.

   Compiled on first use by kernel.py, which says when; kernel_layer.py arranges the numbers as they are read here. The
   numpy layers in models/cells do the same and are what runs where there is no compiler.

   Every row is computed by itself, its sums in one fixed order: no bit of it depends on the rows beside it. */
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
enum { LANES = 16, TILE_OF_4 = 6, TILE_OF_3 = 8 }; /* sums of a tile stay in the registers: 24 of 32 */
#else
enum { LANES = 8, TILE_OF_4 = 3, TILE_OF_3 = 4 }; /* 12 of 16 */
#endif
enum { BLOCK = 96, WIDEST = 4 * LANES }; /* rows at a time, an even number; numbers of a row in one product */

typedef float vec __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

enum cell { RNN_TANH, RNN_RELU, GRU, LSTM }; /* the order is known to kernel_layer.py */

/* Units stand in groups: LANES units with all gates each, or 4 * LANES units of a cell with one gate. Weights are
   [group][input][gate][unit], biases [group][gate][unit] and the table [letter][group][gate][unit], in PyTorch's order
   of gates, padded with zeros, and halved for sigmoid gates: sigmoid(x) = (1 + tanh(x / 2)) / 2. */
struct layer {
    int64_t cell, size, inputs;         /* inputs: units of the layer below, 0 for the lowest layer */
    int64_t hidden_at, memory_at, below_at; /* columns of a row: own h, own c, h of the layer below */
    const float *own, *own_bias, *below, *below_bias, *table;
};

int64_t rnncheck_lanes(void) { return LANES; }

/* Within 6 units of 2^-24 of the exact value and never beyond ±1; what is not a number stays so. The quotient is a
   minimax fit, found by reweighted least squares and a search over neighbouring float32 coefficients. */
static inline float tanh_of(float x)
{
    x = x > 9.02f ? 9.02f : x;
    x = x < -9.02f ? -9.02f : x;
    float t = x * x;
    float p = (((0x1.c9a3fap-27f * t + 0x1.5955a0p-16f) * t + 0x1.c9f870p-9f) * t + 0x1.120448p-3f) * t + 1.0f;
    float q = (((0x1.a0b8aap-21f * t + 0x1.584204p-12f) * t + 0x1.a7df2ep-6f) * t + 0x1.de5774p-2f) * t
              + 0x1.fffffep-1f;
    float y = x * p / q;
    y = y > 1.0f ? 1.0f : y;
    return y < -1.0f ? -1.0f : y;
}

static inline float sigmoid_of_twice(float x) { return 0.5f + 0.5f * tanh_of(x); }

void rnncheck_tanh(int64_t count, const float *x, float *y)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = tanh_of(x[i]);
}

/* z = bias + x · weights for rows of x, one group. What is left of the rows after whole tiles goes in tiles of 2, the
   last of which may go beyond the rows, never beyond a block. */
#define UNROLL _Pragma("GCC unroll 8")
#define PRODUCT(name, COLUMNS, TILE, LEAST, REST)                                                                      \
    static void name(int64_t rows, int64_t inputs, const float *x, const vec *weights, const vec *bias, vec *z)        \
    {                                                                                                                  \
        for (; rows >= LEAST; rows -= TILE, x += TILE * inputs, z += TILE * COLUMNS) {                                 \
            vec sum[TILE][COLUMNS];                                                                                    \
            const vec *w = weights;                                                                                    \
            UNROLL for (int r = 0; r < TILE; r++)                                                                      \
                UNROLL for (int c = 0; c < COLUMNS; c++) sum[r][c] = bias[c];                                          \
            for (int64_t k = 0; k < inputs; k++, w += COLUMNS)                                                         \
                UNROLL for (int r = 0; r < TILE; r++)                                                                  \
                    UNROLL for (int c = 0; c < COLUMNS; c++) sum[r][c] += x[r * inputs + k] * w[c];                    \
            UNROLL for (int r = 0; r < TILE; r++)                                                                      \
                UNROLL for (int c = 0; c < COLUMNS; c++) z[r * COLUMNS + c] = sum[r][c];                               \
        }                                                                                                              \
        REST                                                                                                           \
    }
PRODUCT(last_of_4, 4, 2, 1, )
PRODUCT(last_of_3, 3, 2, 1, )
PRODUCT(product_of_4, 4, TILE_OF_4, TILE_OF_4, last_of_4(rows, inputs, x, weights, bias, z);)
PRODUCT(product_of_3, 3, TILE_OF_3, TILE_OF_3, last_of_3(rows, inputs, x, weights, bias, z);)

/* What a group of units becomes: from the own state's part and that of the input, in place. */
static inline void advance_elman(int relu, const float *own, const float *in, float *h)
{
    for (int i = 0; i < 4 * LANES; i++) {
        float z = own[i] + in[i];
        h[i] = relu ? (z < 0.0f ? 0.0f : z) : tanh_of(z);
    }
}

static inline void advance_gru(const float *own, const float *in, float *h)
{
    for (int i = 0; i < LANES; i++) {
        float reset = sigmoid_of_twice(own[i] + in[i]);
        float update = sigmoid_of_twice(own[LANES + i] + in[LANES + i]);
        float new = tanh_of(in[2 * LANES + i] + reset * own[2 * LANES + i]);
        h[i] = new + update * (h[i] - new);
    }
}

static inline void advance_lstm(const float *own, const float *in, float *h, float *c)
{
    for (int i = 0; i < LANES; i++) {
        float enter = sigmoid_of_twice(own[i] + in[i]);
        float forget = sigmoid_of_twice(own[LANES + i] + in[LANES + i]);
        float new = tanh_of(own[2 * LANES + i] + in[2 * LANES + i]);
        float output = 1.0f + tanh_of(own[3 * LANES + i] + in[3 * LANES + i]);
        c[i] = forget * c[i] + enter * new;
        h[i] = output * tanh_of(c[i]); /* rows hold 2 h */
    }
}

static inline void copy(float *to, const float *from, int64_t count)
{
    if (count == LANES) /* one instruction instead of a call */
        memcpy(to, from, LANES * sizeof(float));
    else
        memcpy(to, from, (size_t)count * sizeof(float));
}

static inline void advance_row(const struct layer *layer, const float *own, const float *in, float *row, int64_t unit,
                               int64_t count)
{
    float h[WIDEST], c[LANES], *hidden = row + layer->hidden_at + unit, *memory = row + layer->memory_at + unit;
    if (layer->cell == LSTM) {
        copy(c, memory, count);
        advance_lstm(own, in, h, c);
        copy(memory, c, count);
    } else if (layer->cell == GRU) {
        copy(h, hidden, count);
        advance_gru(own, in, h);
    } else
        advance_elman(layer->cell == RNN_RELU, own, in, h);
    copy(hidden, h, count);
}

/* ``states`` has the rows, each ``width`` numbers, and is changed in place; ``before`` has the states they continue, of
   which row r continues number ``origin[r]``, never decreasing and none left out (without: its own). ``scratch`` has
   room for BLOCK * (size + inputs) numbers. */
void rnncheck_advance(const struct layer *layer, int64_t rows, int64_t width, float *states, const int64_t *letters,
                      const float *before, const int64_t *origin, float *scratch)
{
    vec own[4 * BLOCK], below[4 * BLOCK];
    const int64_t size = layer->size, inputs = layer->inputs;
    const int64_t gates = layer->cell == LSTM ? 4 : layer->cell == GRU ? 3 : 1;
    const int64_t units = gates == 1 ? 4 * LANES : LANES, groups = (size + units - 1) / units, each = gates * units;
    void (*product)(int64_t, int64_t, const float *, const vec *, const vec *, vec *);
    float *x = scratch, *x_below = scratch + BLOCK * size;

    product = gates == 3 ? product_of_3 : product_of_4;
    for (int64_t start = 0; start < rows; start += BLOCK) {
        const int64_t count = rows - start < BLOCK ? rows - start : BLOCK;
        const int64_t first = origin ? origin[start] : start;
        const int64_t distinct = origin ? origin[start + count - 1] - first + 1 : count;
        float *block = states + start * width;
        for (int64_t r = 0; r < distinct; r++)
            memcpy(x + r * size, before + (first + r) * width + layer->hidden_at, (size_t)size * sizeof(float));
        for (int64_t r = 0; inputs && r < count; r++)
            memcpy(x_below + r * inputs, block + r * width + layer->below_at, (size_t)inputs * sizeof(float));
        for (int64_t g = 0; g < groups; g++) {
            const int64_t left = size - g * units, used = left < units ? left : units;
            product(distinct, size, x, (const vec *)(layer->own + g * size * each),
                    (const vec *)(layer->own_bias + g * each), own);
            if (inputs)
                product(count, inputs, x_below, (const vec *)(layer->below + g * inputs * each),
                        (const vec *)(layer->below_bias + g * each), below);
            for (int64_t r = 0; r < count; r++) {
                const int64_t from = origin ? origin[start + r] - first : r;
                const float *in = inputs ? (const float *)below + r * each
                                         : layer->table + (letters[start + r] * groups + g) * each;
                advance_row(layer, (const float *)own + from * each, in, block + r * width, g * units, used);
            }
        }
    }
}
