/* A set cover of small weight by local search with weights of rows (Gao, Weise and Li 2015): while all rows are
   covered the column that is missed least goes; while some are not, columns are exchanged, and rows that stay
   open grow heavier, so that no exchange is tried for ever. */

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "words.h"

typedef struct {
    const int32_t *begin, *rows;   /* the rows of each column, one column after the other */
    const int32_t *start, *holders; /* the columns of each row */
    const int32_t *cost;
    int32_t *gain;   /* weight of the rows that a column covers alone, or would */
    int32_t *times, *sum, *heavy; /* by row: how often covered, the sum of those columns, its weight */
    int32_t *chosen, *place, *open, *spot; /* lists, and where a column or a row stands in them */
    int32_t *latest; /* the step that touched a column */
    char *may;       /* whether a column may come back: not before something near it has changed */
    int taken, left;
    int64_t total;
} Cover;

static void near(Cover *c, int row, int change) { /* whoever holds the row gains or loses its weight */
    for (int i = c->start[row]; i < c->start[row + 1]; i++) {
        c->gain[c->holders[i]] += change;
        c->may[c->holders[i]] = 1;
    }
}

static void add(Cover *c, int column) {
    int alone = 0;
    c->place[column] = c->taken;
    c->chosen[c->taken++] = column;
    c->total += c->cost[column];
    for (int i = c->begin[column]; i < c->begin[column + 1]; i++) {
        int row = c->rows[i];
        c->sum[row] += column;
        if (++c->times[row] == 1) {
            alone += c->heavy[row];
            near(c, row, -c->heavy[row]);
            int last = c->open[--c->left];
            c->open[c->spot[row]] = last;
            c->spot[last] = c->spot[row];
        } else if (c->times[row] == 2) c->gain[c->sum[row] - column] -= c->heavy[row];
    }
    c->gain[column] = alone;
}

static void drop(Cover *c, int column) {
    int missed = 0, last = c->chosen[--c->taken];
    c->chosen[c->place[column]] = last;
    c->place[last] = c->place[column];
    c->total -= c->cost[column];
    for (int i = c->begin[column]; i < c->begin[column + 1]; i++) {
        int row = c->rows[i];
        c->sum[row] -= column;
        if (--c->times[row] == 0) {
            missed += c->heavy[row];
            near(c, row, c->heavy[row]);
            c->spot[row] = c->left;
            c->open[c->left++] = row;
        } else if (c->times[row] == 1) c->gain[c->sum[row]] += c->heavy[row];
    }
    c->gain[column] = missed;
    c->may[column] = 0;
}

/* Whether a column is worth less for its cost than another one, or the same and was touched earlier. */
static int less(const Cover *c, int one, int other) {
    int64_t here = (int64_t)c->gain[one] * c->cost[other], there = (int64_t)c->gain[other] * c->cost[one];
    return here < there || (here == there && c->latest[one] < c->latest[other]);
}

static void drop_least(Cover *c, int step) {
    int least = -1;
    for (int i = 0; i < c->taken; i++) {
        int column = c->chosen[i];
        if (c->latest[column] < step - 1 && (least < 0 || less(c, column, least))) least = column;
    }
    if (least < 0) least = c->chosen[below(c->taken)];
    c->latest[least] = step;
    drop(c, least);
}

static void drop_any(Cover *c, int step) { /* the least of nine at random */
    int least = c->chosen[below(c->taken)];
    for (int i = 0; i < 8; i++) {
        int column = c->chosen[below(c->taken)];
        if ((int64_t)c->gain[column] * c->cost[least] < (int64_t)c->gain[least] * c->cost[column]) least = column;
    }
    c->latest[least] = step;
    drop(c, least);
}

static int best_for(const Cover *c, int row, int64_t limit) {
    int best = -1;
    for (int i = c->start[row]; i < c->start[row + 1]; i++) {
        int column = c->holders[i];
        if (!c->may[column] || c->total + c->cost[column] > limit) continue;
        if (best < 0 || (int64_t)c->gain[column] * c->cost[best] > (int64_t)c->gain[best] * c->cost[column]
            || ((int64_t)c->gain[column] * c->cost[best] == (int64_t)c->gain[best] * c->cost[column]
                && c->latest[column] < c->latest[best])) best = column;
    }
    return best;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Search for columns of a total cost up to the limit, from known ones on; returns how many, or -1. */
int cover(int columns, int rows, int first, const int32_t *begin, const int32_t *held, const int32_t *start,
          const int32_t *holders, const int32_t *cost, const int32_t *known, int32_t *found, int64_t limit,
          double time, uint64_t seed) {
    int32_t *kept = calloc((size_t)(4 * columns + 5 * rows), sizeof *kept), *by_row = kept + 4 * columns;
    char *may = malloc((size_t)columns);
    Cover c = {begin, held, start, holders, cost, kept, by_row, by_row + rows, by_row + 2 * rows,
               kept + columns, kept + 2 * columns, by_row + 3 * rows, by_row + 4 * rows,
               kept + 3 * columns, may, 0, rows, 0};
    double end = seconds() + time;
    state = seed;
    for (int j = 0; j < columns; j++) { c.gain[j] = begin[j + 1] - begin[j]; may[j] = 1; }
    for (int i = 0; i < rows; i++) { c.heavy[i] = 1; c.open[i] = c.spot[i] = i; }
    for (int i = 0; i < first; i++) add(&c, known[i]);
    int count = -1;
    for (int step = 2; step % 4 || seconds() < end; step++) {
        if (c.left == 0 && c.total <= limit) {
            for (count = 0; count < c.taken; count++) found[count] = c.chosen[count];
            break;
        }
        while (c.taken && (c.left == 0 || c.total > limit)) drop_least(&c, step);
        if (c.taken) drop_least(&c, step);
        if (c.taken && word() >> 63) drop_any(&c, step);
        for (int best; c.left && (best = best_for(&c, c.open[below(c.left)], limit)) >= 0; c.latest[best] = step)
            add(&c, best);
        for (int i = 0; i < 4 && i < c.left; i++) {
            int row = c.open[below(c.left)];
            c.heavy[row]++;
            near(&c, row, 1);
        }
    }
    free(kept);
    free(may);
    return count;
}
