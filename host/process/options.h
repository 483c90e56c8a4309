/* SPDX-License-Identifier: Apache-2.0 */
/* options: the options of callers, checked, with the defaults filled in. Any thread. */
#ifndef HOST_PROCESS_OPTIONS_H
#define HOST_PROCESS_OPTIONS_H

#include <rapahub/admit.h>
#include <rapahub/host.h>

#include "hub/shm/geometry.h"

#define HOST_OPTIONS_PARAMS_MAX 32768
#define HOST_OPTIONS_NAME_MAX   63
#define HOST_OPTIONS_PLAIN_MAX  256
#define HOST_OPTIONS_ADMITTED   255 /* admitted guests at once */

/* The options of a host with their final values; it owns the strings. */
struct host_options {
    char *name, *guest_program, *path; /* path NULL: a new one */
    char *cgroup;                      /* NULL: its own */
    bool own_thread, anonymous;
    enum rapahub_waiting waiting;
    struct hub_limits limits;
    uint64_t call_timeout_ns;
    uint32_t starts_parallel_max, starts_burst, starts_per_s;
    uint32_t admitted_max;
    void (*on_event)(void *user, const struct rapahub_event *event);
    void *user;
};

/* -EINVAL if an option is out of range, or `reserved` is not zero. `given` may be NULL. */
int host_options_take(const struct rapahub_host_options *given, struct host_options *out);
void host_options_fini(struct host_options *options);

/* -EINVAL; RAPAHUB_ESANDBOX if the level of trust cannot be enforced. */
int host_options_check_guest(const struct rapahub_guest_options *options);
int host_options_check_admit(const struct rapahub_admit_options *options);
int host_options_check_container(const struct rapahub_container_options *options);

#endif
