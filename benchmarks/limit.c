/* What one thread can do: reports made and counted by compiled loops, with a fast generator that is no
   cryptographic one. Each function returns one number that depends on all counts, so that nothing is left out. */

#include <stdint.h>
#include <string.h>

static uint64_t state[4] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0x2545f4914f6cdd1d};

static inline uint64_t rotated(uint64_t word, int by) { return word << by | word >> (64 - by); }

static inline uint64_t word(void) { /* xoshiro256++ */
    uint64_t found = rotated(state[0] + state[3], 23) + state[0], shifted = state[1] << 17;
    state[2] ^= state[0]; state[3] ^= state[1]; state[1] ^= state[2]; state[0] ^= state[3];
    state[2] ^= shifted; state[3] = rotated(state[3], 45);
    return found;
}

static inline uint64_t below(uint64_t limit) { return (uint64_t)((unsigned __int128)word() * limit >> 64); }

static void add_members(const uint64_t *set, int words, int64_t *counts) {
    for (int at = 0; at < words; at++)
        for (uint64_t left = set[at]; left; left &= left - 1) counts[64 * at + __builtin_ctzll(left)]++;
}

/* The own category below a limit out of 2^62, else one of k equal shares. */
void kary(const int64_t *answers, int64_t users, int64_t k, uint64_t limit, int64_t *counts) {
    uint64_t share = ((1ULL << 62) - limit) / k + 1;
    for (int64_t user = 0; user < users; user++) {
        uint64_t drawn = word() >> 2;
        counts[drawn < limit ? (uint64_t)answers[user] : (drawn - limit) / share]++;
    }
}

/* Bits that are 1 with a chance out of 2^62, 64 at a time, digit by digit. */
static inline uint64_t bits(uint64_t weight) {
    uint64_t open = ~0ULL, found = 0;
    for (int digit = 61; open && digit >= 0; digit--) {
        uint64_t drawn = word();
        if (weight >> digit & 1) { found |= open & ~drawn; open &= drawn; } else open &= ~drawn;
    }
    return found;
}

void unary(const int64_t *answers, int64_t users, int64_t k, uint64_t weight, int64_t *counts) {
    int words = (int)((k + 63) / 64);
    uint64_t set[1024];
    for (int64_t user = 0; user < users; user++) {
        for (int at = 0; at < words; at++) set[at] = bits(weight);
        uint64_t own = 1ULL << (answers[user] & 63);
        if (word() >> 63) set[answers[user] >> 6] |= own; else set[answers[user] >> 6] &= ~own;
        add_members(set, words, counts);
    }
}

/* Floyd's algorithm. */
void subset(const int64_t *answers, int64_t users, int64_t k, uint64_t include, int64_t size, int64_t *counts) {
    int words = (int)((k + 63) / 64);
    uint64_t set[1024];
    for (int64_t user = 0; user < users; user++) {
        uint64_t own = answers[user], held = (word() >> 2) < include;
        memset(set, 0, 8 * words);
        for (uint64_t last = k - 1 - size + held; last < (uint64_t)k - 1; last++) {
            uint64_t found = below(last + 1);
            found += found >= own;
            if (set[found >> 6] >> (found & 63) & 1) found = last + (last >= own);
            set[found >> 6] |= 1ULL << (found & 63);
        }
        if (held) set[own >> 6] |= 1ULL << (own & 63);
        add_members(set, words, counts);
    }
}

/* Hash to buckets, report, and try every category. */
void hashing(const int64_t *answers, int64_t users, int64_t k, uint64_t limit, int64_t buckets, int64_t prime,
             int64_t *counts) {
    uint64_t share = ((1ULL << 62) - limit) / buckets + 1;
    for (int64_t user = 0; user < users; user++) {
        uint32_t slope = 1 + (uint32_t)below(prime - 1), shift = (uint32_t)below(prime);
        uint64_t drawn = word() >> 2;
        uint32_t bucket = drawn < limit ? (uint32_t)(((uint64_t)slope * answers[user] + shift) % prime % buckets)
                                        : (uint32_t)((drawn - limit) / share);
        uint32_t at = shift;
        for (int64_t category = 0; category < k; category++) {
            counts[category] += at % (uint32_t)buckets == bucket;
            at += slope;
            at -= at >= (uint32_t)prime ? (uint32_t)prime : 0;
        }
    }
}

void hadamard(const int64_t *answers, int64_t users, int64_t order, uint64_t even, int64_t *counts) {
    for (int64_t user = 0; user < users; user++) {
        uint64_t row = answers[user] + 1, odd = (word() >> 2) >= even, drawn = word() & (order - 1);
        if ((uint64_t)(__builtin_popcountll(drawn & row) & 1) != odd) drawn ^= row & -row;
        counts[drawn]++;
    }
}

/* One bit of a number in [-1, 1]. */
void duchi(const double *values, int64_t users, double low, double span, int64_t *counts) {
    int64_t ones = 0;
    for (int64_t user = 0; user < users; user++)
        ones += (int64_t)(word() >> 2) < (int64_t)(low + (values[user] + 1) / 2 * span);
    counts[0] += ones;
}
