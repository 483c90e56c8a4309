/* SPDX-License-Identifier: Apache-2.0 */
/* pool_spec: what a pool shall be, with every default filled in. Programs make it from a file, so
 * that a node reads no file of theirs. Strings, bytes and lists that were read are views of the
 * bytes that were read.
 */
#ifndef CLUSTER_WIRE_POOL_SPEC_H
#define CLUSTER_WIRE_POOL_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/wire/format.h"

#define CLUSTER_POOL_SPEC_PARAMS_MAX  (64 * 1024)
#define CLUSTER_POOL_SPEC_METHODS_MAX 1024
#define CLUSTER_POOL_SPEC_NODES_MAX   256
#define CLUSTER_POOL_SPEC_OPTIONS_MAX 128
#define CLUSTER_POOL_SPEC_DIGEST      32
#define CLUSTER_POOL_SPEC_COPIES_MAX  16
#define CLUSTER_POOL_SPEC_KEYS        24 /* members of a spec, as cluster_pool_spec_differ has them */

enum cluster_pool_durability {
    CLUSTER_DURABILITY_NONE,
    CLUSTER_DURABILITY_LOCAL,
    CLUSTER_DURABILITY_CHECKPOINT,
    CLUSTER_DURABILITY_ACKED,
    CLUSTER_DURABILITIES
};

/* Their words; NULL ends them. */
extern const char *const cluster_pool_spec_durabilities[CLUSTER_DURABILITIES + 1];

enum cluster_pool_choice_daemon {
    CLUSTER_DAEMON_RESTART,
    CLUSTER_DAEMON_RECOVER,
    CLUSTER_DAEMON_CHOICES
};
enum cluster_pool_choice_fence { CLUSTER_FENCE_HOLD, CLUSTER_FENCE_KILL, CLUSTER_FENCE_CHOICES };

/* A key of rapahub-tree(5) for the guests of the pool: a number in its base unit, or a word. */
struct cluster_pool_option {
    struct rapahub_string key, word;
    uint64_t number;
};

/* A method for which the pool says something; `all` stands for every method. */
struct cluster_pool_method {
    uint64_t id;
    bool repeat;  /* it may run twice */
    bool outside; /* it has effects beyond the state that check neither token nor uid */
};

struct cluster_pool_spec {
    struct rapahub_string name;
    struct rapahub_string module, version;
    struct rapahub_bytes digest; /* SHA-256 of the module's file */
    uint32_t containers;         /* 0: each node has one */
    bool own_guests;             /* a guest for each container; else they share */
    uint8_t durability, on_daemon_death, on_fence;
    uint32_t copies, min_copies; /* holders of a copy, the owner included */
    bool repeat_all;
    uint64_t idle_to_zero_ns; /* 0: never */
    bool spread_zones;
    struct rapahub_string trust, params;
    struct cluster_list methods; /* struct cluster_pool_method */
    struct cluster_list nodes;   /* uint32_t: only there; none: anywhere */
    struct cluster_list not_on;  /* uint32_t */
    struct cluster_list options; /* struct cluster_pool_option */
};

/* Write and read a spec, with the results of cluster_format_put and cluster_format_read. */
int cluster_pool_spec_put(struct hub_writer *writer, const struct cluster_pool_spec *spec);
int cluster_pool_spec_read(struct rapahub_bytes from, struct cluster_pool_spec *out);

/* Writes the keys in which two specs that were read differ, at most CLUSTER_POOL_SPEC_KEYS. Returns
 * how many there are. */
uint32_t cluster_pool_spec_differ(const struct cluster_pool_spec *one,
                                  const struct cluster_pool_spec *other,
                                  const char *keys[CLUSTER_POOL_SPEC_KEYS]);

bool cluster_pool_spec_next_method(struct cluster_list *list, struct cluster_pool_method *out);
bool cluster_pool_spec_next_node(struct cluster_list *list, uint32_t *out);
bool cluster_pool_spec_next_option(struct cluster_list *list, struct cluster_pool_option *out);

#endif
