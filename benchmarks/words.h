/* Random words and numbers below a limit for the searches: quick, and not for cryptography. */

#include <stdint.h>

static uint64_t state = 1;

static inline uint64_t word(void) { /* splitmix64 */
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static inline int below(int limit) { return (int)((word() >> 32) * (uint64_t)limit >> 32); }
