/* SPDX-License-Identifier: Apache-2.0 */
/* raw pair: what a ticket carries between processes is handed over in a struct. */
#include "tests/raw/raw_pair.h"

#include "tests/raw/raw_guest.h"

int raw_pair_open(struct raw_pair *pair, const struct raw_config *config, enum raw_bell bell)
{
    int r = raw_host_create(config, &pair->segment);

    if (r < 0)
        return r;
    r = raw_host_reserve(&pair->segment, 1, bell, &pair->host, &pair->guest.bell);
    if (r < 0) {
        raw_host_destroy(&pair->segment);
        return r;
    }
    r = raw_guest_attach_mapped(&pair->guest, pair->segment.base, pair->segment.size, 1);
    if (r < 0)
        raw_pair_close(pair);
    return r;
}

void raw_pair_close(struct raw_pair *pair)
{
    raw_link_fini(&pair->guest);
    raw_link_fini(&pair->host);
    raw_host_destroy(&pair->segment);
}
