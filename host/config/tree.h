/* SPDX-License-Identifier: Apache-2.0 */
/* tree: a file with supervisors and guests, as the options of the library. The whole file is read
 * and checked before a program starts anything. For one thread. */
#ifndef CONFIG_TREE_H
#define CONFIG_TREE_H

#include <rapahub/control.h>
#include <rapahub/host.h>
#include <rapahub/roles.h>
#include <rapahub/sequencer.h>

#include "host/config/yaml.h"

#define CONFIG_TREE_NAME        64
#define CONFIG_TREE_LIST        64  /* entries of a list of a child */
#define CONFIG_TREE_GUESTS      255 /* the most that a host may have */
#define CONFIG_TREE_SUPERVISORS 60

/* A region of the file. */
struct config_tree_region {
    struct fy_node *at; /* its map */
    const char *name;
    struct rapahub_host_region_options options; /* without a kind: the region is opened */
    const char *after;                          /* its stages, as text */
    enum rapahub_stage_on_death on_death;
    uint64_t freeze_ns;
    struct rapahub_region_stage *stages; /* a sequencer's, of the options */
    /* the region as it is, or will be, which says the roles it has */
    enum rapahub_region_kind kind;
    uint32_t consumers, producers;
    bool shared; /* a sequencer that takes any number of producers */
};

/* A guest or a supervisor. Texts are the file's. */
struct config_tree_node {
    struct fy_node *at;              /* its map */
    struct config_tree_node *parent; /* NULL: the one at the top */
    unsigned index;                  /* among the nodes of the tree */
    bool is_supervisor;
    const char *name;
    char own_name[CONFIG_TREE_NAME];         /* where the file gives none */
    struct rapahub_supervision how;          /* options as a child */
    struct rapahub_supervisor_options group; /* a supervisor's: options for its children */
    bool failed;                             /* a supervisor's; its failure was reported */
    struct fy_node *list;                    /* the file's: of regions; a guest's: of roles */
    struct config_tree_region region;        /* only while it is read */
    struct fy_node *children; /* a supervisor's: the list; the file's: its supervisor */
    const char *module;       /* a guest's, as written */
    char *path;               /* a guest's, resolved from the file's folder */
    enum rapahub_trust trust;
    struct rapahub_limits limits;
    const char *params;
    const char *plain[CONFIG_TREE_LIST + 1], *finish[CONFIG_TREE_LIST + 1],
        *keep_fds[CONFIG_TREE_LIST + 1];
    unsigned dependencies_count;
    struct rapahub_dependency dependencies[RAPAHUB_DEPENDENCIES_MAX + 1];
    struct fy_node *named_at[RAPAHUB_DEPENDENCIES_MAX];
    uint16_t success[CONFIG_TREE_LIST + 1], prevent[CONFIG_TREE_LIST + 1],
        force[CONFIG_TREE_LIST + 1];
    struct rapahub_role roles[RAPAHUB_ROLES_MAX + 1]; /* a guest's; ended by one without a name */
    struct fy_node *roles_at[RAPAHUB_ROLES_MAX];      /* their maps */
    struct rapahub_host_options host;                 /* the file's: its limits */
    const char *control_group; /* the file's, as all below: who may use the host */
    enum rapahub_control_role control_role;
};

struct config_tree {
    struct config_yaml yaml;
    struct config_tree_node file; /* all options of the file besides its supervisor */
    enum rapahub_trust trust;     /* for guests without a trust of their own */
    unsigned region_count;
    struct config_tree_region *regions;
    unsigned guests, supervisors, count;
    struct config_tree_node
        *nodes[CONFIG_TREE_GUESTS + CONFIG_TREE_SUPERVISORS]; /* each after its supervisor */
};

/* Reads and checks a file. RAPAHUB_ECONFIG says what is wrong and where, and `out->yaml.quote`
 * shows the line. `path` must outlive `out`, which must be closed in any case. r[impl exp.config]
 */
int config_tree_open(const char *path, enum rapahub_trust trust, struct config_tree *out);
void config_tree_close(struct config_tree *tree);

/* Says whether a name ends in .yaml or .yml. */
bool config_tree_is_file(const char *path);

#endif
