/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/random.h"

#include <errno.h>
#include <sys/random.h>

#include "hub/base/check.h"

void hub_random_init(struct hub_random *random, uint64_t seed)
{
    random->state = seed;
}

uint64_t hub_random_next(struct hub_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Numbers above the last whole multiple of `below` are drawn again, so that the result has no
 * bias. */
uint64_t hub_random_below(struct hub_random *random, uint64_t below)
{
    uint64_t limit, drawn;

    CHECK(below > 0);
    limit = UINT64_MAX - UINT64_MAX % below;
    do
        drawn = hub_random_next(random);
    while (drawn >= limit);
    return drawn % below;
}

uint64_t hub_random_nonce(void)
{
    uint64_t nonce = 0;
    ssize_t n;

    do
        n = getrandom(&nonce, sizeof nonce, 0);
    while (n < 0 && errno == EINTR);
    ENSURE(n == (ssize_t)sizeof nonce);
    return nonce;
}
