/* Annealing of coverings: blocks whose images under a group cover every few points (Nurmela and Ostergard
   1993). One step exchanges a point of one block; the images of the block move with it. */

#include <math.h>
#include <stdint.h>

#include "words.h"

#define MOST 32 /* points; a table of subsets has this many entries an index */

/* The orbits of the subsets of a point and order - 1 of the others, into found; returns how many. */
static int orbits_with(const int32_t *orbit, int order, const int32_t *others, int size, int64_t at, int32_t *found) {
    if (order == 0) { *found = orbit[at]; return 1; }
    int count = 0;
    for (int one = 0; one + order <= size; one++)
        count += orbits_with(orbit, order - 1, others + one + 1, size - one - 1, at * MOST + others[one], found + count);
    return count;
}

/* Anneal in place; returns the weight of the orbits of subsets that no block covers. */
double anneal(int points, int order, int block, int blocks, const int32_t *orbit, const double *weight,
              int32_t *times, int32_t *members, int64_t steps, double hot, double cold, uint64_t seed) {
    int32_t lost[512], won[512], others[MOST];
    int64_t orbits = times[0]; /* the caller passes their number here */
    double open = 0;
    state = seed;
    for (int64_t one = 0; one < orbits; one++) { times[one] = 0; open += weight[one]; }
    for (int b = 0; b < blocks; b++) /* every subset once, by its first point */
        for (int first = 0; first + order <= block; first++) {
            const int32_t *own = members + b * block + first;
            int count = orbits_with(orbit, order - 1, own + 1, block - first - 1, own[0], lost);
            for (int i = 0; i < count; i++) if (times[lost[i]]++ == 0) open -= weight[lost[i]];
        }
    double heat = hot, cooling = pow(cold / hot, 1000.0 / (double)steps);
    for (int64_t step = 0; step < steps && open > 1e-9; step++) {
        if (step % 1000 == 0) heat *= cooling;
        int32_t *own = members + (int64_t)below(blocks) * block;
        int place = below(block), coming = below(points), held = 0, rest = 0;
        for (int i = 0; i < block; i++) {
            held |= own[i] == coming;
            if (i != place) others[rest++] = own[i];
        }
        if (held) continue;
        int count = orbits_with(orbit, order - 1, others, rest, own[place], lost);
        orbits_with(orbit, order - 1, others, rest, coming, won);
        double worse = 0;
        for (int i = 0; i < count; i++) if (--times[lost[i]] == 0) worse += weight[lost[i]];
        for (int i = 0; i < count; i++) if (times[won[i]]++ == 0) worse -= weight[won[i]];
        if (worse <= 0 || (double)(word() >> 11) * 0x1p-53 < exp(-worse / heat)) {
            own[place] = coming;
            open += worse;
        } else {
            for (int i = 0; i < count; i++) { times[won[i]]--; times[lost[i]]++; }
        }
    }
    return open;
}
