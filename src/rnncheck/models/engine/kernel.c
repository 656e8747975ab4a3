/* One letter read by a recurrent network in many rows, in float32: products, gates and new state in one pass, the rows
   shared out among a few threads.

   Compiled on first use by kernel.py, which says when; kernel_rows.py arranges the numbers as they are read here. The
   numpy layers in models/cells do the same and are what runs where there is no compiler.

   Every row is computed by itself, its sums in one fixed order: no bit of it depends on the rows beside it, nor on the
   thread that it falls to. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <xmmintrin.h>

#if defined(__AVX512F__)
enum { LANES = 16, TILE_OF_4 = 6, TILE_OF_3 = 8 }; /* sums of a tile stay in the registers: 24 of 32 */
#else
enum { LANES = 8, TILE_OF_4 = 3, TILE_OF_3 = 4 }; /* 12 of 16 */
#endif
enum { BLOCK = 96, WIDEST = 4 * LANES }; /* rows at a time, an even number; numbers of a row in one product */
enum { GROUPS_OF_4 = 2, GROUPS_OF_3 = 3 }; /* of one row at a time: fewer sums than 8 would wait for each other */

typedef float vec __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

enum cell { RNN_TANH, RNN_RELU, GRU, LSTM }; /* the order is known to kernel_rows.py */

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

/* The same for one row and several groups, whose sums are independent; each sum is in the order that it has above. */
#define ROW_PRODUCT(name, COLUMNS, AT_ONCE, REST)                                                                      \
    static void name(int64_t groups, int64_t inputs, const float *x, const vec *weights, const vec *bias, vec *z)      \
    {                                                                                                                  \
        const int64_t apart = inputs * COLUMNS;                                                                        \
        for (; groups >= AT_ONCE; groups -= AT_ONCE, bias += AT_ONCE * COLUMNS, z += AT_ONCE * COLUMNS) {              \
            vec sum[AT_ONCE][COLUMNS];                                                                                 \
            UNROLL for (int g = 0; g < AT_ONCE; g++)                                                                   \
                UNROLL for (int c = 0; c < COLUMNS; c++) sum[g][c] = bias[g * COLUMNS + c];                            \
            for (int64_t k = 0; k < inputs; k++, weights += COLUMNS)                                                   \
                UNROLL for (int g = 0; g < AT_ONCE; g++)                                                               \
                    UNROLL for (int c = 0; c < COLUMNS; c++) sum[g][c] += x[k] * weights[g * apart + c];               \
            UNROLL for (int g = 0; g < AT_ONCE; g++)                                                                   \
                UNROLL for (int c = 0; c < COLUMNS; c++) z[g * COLUMNS + c] = sum[g][c];                               \
            weights += (AT_ONCE - 1) * apart;                                                                          \
        }                                                                                                              \
        REST                                                                                                           \
    }
ROW_PRODUCT(one_group_of_4, 4, 1, )
ROW_PRODUCT(one_group_of_3, 3, 1, )
ROW_PRODUCT(row_product_of_4, 4, GROUPS_OF_4, one_group_of_4(groups, inputs, x, weights, bias, z);)
ROW_PRODUCT(row_product_of_3, 3, GROUPS_OF_3, one_group_of_3(groups, inputs, x, weights, bias, z);)

/* For groups of a layer, and for each of them all rows: z is [group][row][gate][unit]. */
static void products(int gates, int64_t groups, int64_t rows, int64_t inputs, const float *x, const float *weights,
                     const float *bias, vec *z)
{
    const vec *w = (const vec *)weights, *b = (const vec *)bias;
    const int64_t columns = gates == 3 ? 3 : 4;
    if (rows == 1) {
        (gates == 3 ? row_product_of_3 : row_product_of_4)(groups, inputs, x, w, b, z);
        return;
    }
    for (int64_t g = 0; g < groups; g++, w += inputs * columns, b += columns, z += rows * columns)
        (gates == 3 ? product_of_3 : product_of_4)(rows, inputs, x, w, b, z);
}

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

/* Some units of one row: from ``before``, their h, to ``hidden``, which may be the same; their c in place. Never inlined:
   for every caller it is the same code and rounds alike. */
__attribute__((noinline)) static void advance_row(int64_t cell, const float *own, const float *in, const float *before, float *hidden,
                               float *memory, int64_t count)
{
    float h[WIDEST], c[LANES];
    if (cell == LSTM) {
        copy(c, memory, count);
        advance_lstm(own, in, h, c);
        copy(memory, c, count);
    } else if (cell == GRU) {
        copy(h, before, count);
        advance_gru(own, in, h);
    } else
        advance_elman(cell == RNN_RELU, own, in, h);
    copy(hidden, h, count);
}

/* How the units of a layer stand in groups. */
struct groups {
    int gates;
    int64_t units, count, each; /* units of a group, how many groups, and numbers of a row in one group */
};

static inline struct groups groups_of(const struct layer *layer)
{
    const int gates = layer->cell == LSTM ? 4 : layer->cell == GRU ? 3 : 1;
    const int64_t units = gates == 1 ? 4 * LANES : LANES;
    return (struct groups){gates, units, (layer->size + units - 1) / units, gates * units};
}

static inline int64_t units_of(const struct groups *in, int64_t group, int64_t size)
{
    const int64_t left = size - group * in->units;
    return left < in->units ? left : in->units;
}

/* One letter in every row of ``after``, each ``width`` numbers. Row r continues number ``origin[r]`` of ``before``, or
   without ``origin`` number r, where both may be the same memory. What neighbours that continue the same state compute
   from it alone is computed once. */
struct step {
    const struct layer *layers;
    int64_t depth, width, rows;
    const float *before;
    const int64_t *origin, *letters;
    float *after, *scratch; /* scratch: room for BLOCK * 2 * the widest layer's units, for each thread */
    int64_t room, each;
    const float *head; /* or NULL: for each output its bias and what it takes of the top layer's units */
    int64_t outputs;
    float *out; /* rows × outputs */
    int seats; /* threads at most */
    unsigned rounding; /* the caller's, so that all round alike */
    atomic_long next;
    atomic_int joined;
};

static void advance(const struct step *step, const struct layer *layer, int64_t start, int64_t count, float *scratch)
{
    vec own[4 * BLOCK], below[4 * BLOCK];
    const int64_t size = layer->size, inputs = layer->inputs, width = step->width, *origin = step->origin;
    const struct groups in = groups_of(layer);
    const int64_t at_once = count == 1 ? BLOCK : 1; /* groups */
    float *x = scratch, *x_below = scratch + BLOCK * size, *block = step->after + start * width;
    int64_t distinct = 0, place[BLOCK];

    for (int64_t r = 0; r < count; r++) {
        const int64_t of = origin ? origin[start + r] : start + r;
        if (r == 0 || !origin || of != origin[start + r - 1])
            memcpy(x + distinct++ * size, step->before + of * width + layer->hidden_at, (size_t)size * sizeof(float));
        place[r] = distinct - 1;
    }
    for (int64_t r = 0; inputs && r < count; r++)
        memcpy(x_below + r * inputs, block + r * width + layer->below_at, (size_t)inputs * sizeof(float));
    for (int64_t first = 0; first < in.count; first += at_once) {
        const int64_t some = in.count - first < at_once ? in.count - first : at_once;
        products(in.gates, some, distinct, size, x, layer->own + first * size * in.each,
                 layer->own_bias + first * in.each, own);
        if (inputs)
            products(in.gates, some, count, inputs, x_below, layer->below + first * inputs * in.each,
                     layer->below_bias + first * in.each, below);
        for (int64_t g = first; g < first + some; g++)
            for (int64_t r = 0; r < count; r++) {
                const float *mine = (const float *)own + ((g - first) * distinct + place[r]) * in.each;
                const float *from = inputs ? (const float *)below + ((g - first) * count + r) * in.each
                                           : layer->table + (step->letters[start + r] * in.count + g) * in.each;
                float *hidden = block + r * width + layer->hidden_at + g * in.units;
                float *memory = block + r * width + layer->memory_at + g * in.units;
                advance_row(layer->cell, mine, from, hidden, hidden, memory, units_of(&in, g, size));
            }
    }
}

/* What the head puts out for h of the top layer: of each output ``head`` has its bias and what it takes of the units. */
__attribute__((noinline)) static void read_out(const float *head, int64_t outputs, int64_t size, const float *h, float *out)
{
    const int64_t whole = size - size % LANES;
    for (int64_t o = 0; o < outputs; o++, head += 1 + size) {
        vec sums = {0.0f};
        float sum = head[0];
        for (int64_t k = 0; k < whole; k += LANES)
            sums += *(const vec *)(h + k) * *(const vec *)(head + 1 + k);
        for (int64_t k = whole; k < size; k++)
            sum += h[k] * head[1 + k];
        for (int i = 0; i < LANES; i++)
            sum += sums[i];
        out[o] = sum;
    }
}

/* Take pieces of the rows, one after the other, until there is none left. */
static void work(struct step *step)
{
    const int seat = atomic_fetch_add(&step->joined, 1);
    if (seat >= step->seats)
        return;
    for (;;) {
        const int64_t start = atomic_fetch_add(&step->next, 1) * step->each;
        const int64_t end = start + step->each < step->rows ? start + step->each : step->rows;
        if (start >= step->rows)
            return;
        for (int64_t r = start; step->before != step->after && r < end; r++)
            memcpy(step->after + r * step->width, step->before + (step->origin ? step->origin[r] : r) * step->width,
                   (size_t)step->width * sizeof(float));
        for (const struct layer *layer = step->layers; layer < step->layers + step->depth; layer++)
            for (int64_t r = start; r < end; r += BLOCK)
                advance(step, layer, r, end - r < BLOCK ? end - r : BLOCK, step->scratch + seat * step->room);
        const struct layer *top = step->layers + step->depth - 1;
        for (int64_t r = start; step->head && r < end; r++)
            read_out(step->head, step->outputs, top->size, step->after + r * step->width + top->hidden_at,
                     step->out + r * step->outputs);
    }
}

/* Helpers wait for the next step for a moment, since it mostly comes at once, and then sleep. A caller never waits for
   one to wake up: it does what nobody else has begun. Where two call at a time, the second works alone. */
enum { HELPERS = 63, MOMENT = 4096, OPEN = 1 << 15, INSIDE = OPEN - 1, NUMBER = 1 << 16 };

static struct {
    atomic_int taken;    /* by a caller */
    atomic_ulong state;  /* NUMBER * how many steps there were, OPEN to more helpers, and how many are INSIDE */
    struct step *step;
    atomic_int sleeping;
    int helpers;
    pthread_mutex_t lock;
    pthread_cond_t opened;
} team = {.lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};

static int is_new(unsigned long state, unsigned long last) { return (state & OPEN) && state / NUMBER != last; }

static unsigned long next_step(unsigned long last)
{
    unsigned long state;
    for (int i = 0; i < MOMENT; i++, _mm_pause())
        if (is_new(state = atomic_load(&team.state), last))
            return state;
    pthread_mutex_lock(&team.lock);
    atomic_fetch_add(&team.sleeping, 1);
    while (!is_new(state = atomic_load(&team.state), last))
        pthread_cond_wait(&team.opened, &team.lock);
    atomic_fetch_sub(&team.sleeping, 1);
    pthread_mutex_unlock(&team.lock);
    return state;
}

static void *help(void *nothing)
{
    for (unsigned long last = 0;;) {
        unsigned long state = next_step(last);
        while ((state & OPEN) && !atomic_compare_exchange_weak(&team.state, &state, state + 1))
            ;
        last = state / NUMBER;
        if (state & OPEN) {
            _mm_setcsr(team.step->rounding);
            work(team.step);
            atomic_fetch_sub(&team.state, 1);
        }
    }
    return nothing;
}

/* A fork has no helpers, whatever they were at. */
static void start_anew(void)
{
    atomic_store(&team.taken, 0);
    atomic_store(&team.state, 0);
    atomic_store(&team.sleeping, 0);
    team.helpers = 0;
    pthread_mutex_init(&team.lock, NULL);
    pthread_cond_init(&team.opened, NULL);
}

/* Start this number of helpers, or as many as possible; they handle no signals. */
static void hire(int wanted)
{
    static int knows_of_forks;
    sigset_t all, before;
    pthread_t helper;
    if (team.helpers >= wanted || team.helpers >= HELPERS)
        return;
    if (!knows_of_forks && pthread_atfork(NULL, NULL, start_anew))
        return;
    knows_of_forks = 1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (team.helpers < wanted && team.helpers < HELPERS && !pthread_create(&helper, NULL, help, NULL)) {
        pthread_detach(helper);
        team.helpers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void work_together(struct step *step)
{
    int nobody = 0;
    if (!atomic_compare_exchange_strong(&team.taken, &nobody, 1)) {
        work(step);
        return;
    }
    hire(step->seats - 1);
    team.step = step;
    atomic_store(&team.state, (atomic_load(&team.state) / NUMBER + 1) * NUMBER | OPEN);
    if (atomic_load(&team.sleeping)) {
        pthread_mutex_lock(&team.lock);
        pthread_cond_broadcast(&team.opened);
        pthread_mutex_unlock(&team.lock);
    }
    work(step);
    atomic_fetch_and(&team.state, ~(unsigned long)OPEN);
    for (int i = 0; atomic_load(&team.state) & INSIDE; i++)
        if (i < MOMENT)
            _mm_pause();
        else
            sched_yield();
    atomic_store(&team.taken, 0);
}

void rnncheck_step(const struct layer *layers, int64_t depth, int64_t width, int64_t rows, const float *before,
                   const int64_t *origin, const int64_t *letters, float *after, const float *head, int64_t outputs,
                   float *out, float *scratch, int64_t room, int64_t threads)
{
    const int64_t seats = threads < HELPERS + 1 ? threads : HELPERS + 1;
    const int64_t turns = (rows + seats * 2 * BLOCK - 1) / (seats * 2 * BLOCK), pieces = seats * (turns ? turns : 1);
    struct step step = {
        .layers = layers, .depth = depth, .width = width, .rows = rows, .before = before, .origin = origin,
        .letters = letters, .after = after, .head = head, .outputs = outputs, .out = out,
        .scratch = scratch, .room = room,
        .each = (rows + pieces - 1) / pieces + 1 & ~(int64_t)1, .seats = (int)seats, .rounding = _mm_getcsr(),
    };
    if (rows > step.each && seats > 1)
        work_together(&step);
    else
        work(&step);
}

/* One layer over ``letters`` letters of each of a few rows, whose h after each letter goes to ``y``, [letter][row][unit];
   y begins with the h before them. What comes from the layer below, at ``x``, is one product for all letters. */
static void read_layer(const struct layer *layer, int64_t rows, int64_t letters, const int64_t *codes, float *states,
                       int64_t width, const float *x, float *y, float *from_below)
{
    vec own[4 * BLOCK];
    const int64_t size = layer->size, inputs = layer->inputs, places = rows * letters;
    const struct groups in = groups_of(layer);
    const int64_t at_once = rows == 1 ? BLOCK : 1;

    for (int64_t r = 0; r < rows; r++)
        memcpy(y + r * size, states + r * width + layer->hidden_at, (size_t)size * sizeof(float));
    if (inputs)
        products(in.gates, in.count, places, inputs, x, layer->below, layer->below_bias, (vec *)from_below);
    for (int64_t place = 0; place < places; place += rows, y += rows * size)
        for (int64_t first = 0; first < in.count; first += at_once) {
            const int64_t some = in.count - first < at_once ? in.count - first : at_once;
            products(in.gates, some, rows, size, y, layer->own + first * size * in.each,
                     layer->own_bias + first * in.each, own);
            for (int64_t g = first; g < first + some; g++)
                for (int64_t r = 0; r < rows; r++) {
                    const float *mine = (const float *)own + ((g - first) * rows + r) * in.each;
                    const float *from = inputs ? from_below + (g * places + place + r) * in.each
                                               : layer->table + (codes[place + r] * in.count + g) * in.each;
                    float *before = y + r * size + g * in.units, *memory = states + r * width + layer->memory_at;
                    advance_row(layer->cell, mine, from, before, before + rows * size, memory + g * in.units,
                                units_of(&in, g, size));
                }
        }
    for (int64_t r = 0; r < rows; r++)
        memcpy(states + r * width + layer->hidden_at, y + r * size, (size_t)size * sizeof(float));
}

/* Several letters, one after the other, in each of a few rows, at most BLOCK: a layer reads many of them before the next
   layer does, so that its weights are still near. ``codes`` is [letter][row], ``out`` [letter][row][output].
   scratch: twice room for 2 * BLOCK rows of the widest layer, then for BLOCK rows of all gates of the widest one. */
void rnncheck_read(const struct layer *layers, int64_t depth, int64_t width, int64_t rows, int64_t letters,
                   const int64_t *codes, float *states, const float *head, int64_t outputs, float *out, float *scratch,
                   int64_t room)
{
    const struct layer *top = layers + depth - 1;
    for (int64_t start = 0, some; start < letters; start += some, codes += some * rows, out += some * rows * outputs) {
        const float *x = NULL;
        some = letters - start < BLOCK / rows ? letters - start : BLOCK / rows;
        for (const struct layer *layer = layers; layer <= top; layer++) {
            float *y = scratch + (layer - layers) % 2 * room;
            read_layer(layer, rows, some, codes, states, width, x, y, scratch + 2 * room);
            x = y + rows * layer->size;
        }
        for (int64_t place = 0; place < some * rows; place++)
            read_out(head, outputs, top->size, x + place * top->size, out + place * outputs);
    }
}
