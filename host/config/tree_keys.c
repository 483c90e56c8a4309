/* SPDX-License-Identifier: Apache-2.0 */
#include "host/config/tree_keys.h"

#include <stdio.h>
#include <string.h>

#include "host/config/suggest.h"
#include "host/supervise/defaults.h"

#define GUEST        CONFIG_TREE_OF_GUEST
#define SUPERVISOR   CONFIG_TREE_OF_SUPERVISOR
#define REGION       CONFIG_TREE_OF_REGION
#define CHILD        (CONFIG_TREE_OF_GUEST | CONFIG_TREE_OF_SUPERVISOR)
#define AT(member)   offsetof(struct config_tree_node, member)
#define HOW(member_) AT(how) + offsetof(struct rapahub_supervision, member_), .member = #member_
#define AND(member_) \
    AT(how) + offsetof(struct rapahub_supervision, member_), .second_member = #member_
#define GROUP(member) AT(group) + offsetof(struct rapahub_supervisor_options, member)
#define LIMIT(member) AT(limits) + offsetof(struct rapahub_limits, member)
#define DEFAULT(name) HOST_DEFAULT_TEXT(name)
#define MADE(member)  AT(region.options.region.member)
#define ROLE(member)  AT(roles[0].member)
#define HOST(member)  AT(host) + offsetof(struct rapahub_host_options, member)

#define CHOICES(name, ...) static const struct config_tree_choice name[] = {__VA_ARGS__, {NULL, 0}}

CHOICES(trusts, {"standard", RAPAHUB_TRUST_STANDARD}, {"strict", RAPAHUB_TRUST_STRICT},
        {"trusted", RAPAHUB_TRUST_TRUSTED});
CHOICES(starts, {"eager", RAPAHUB_START_EAGER}, {"lazy", RAPAHUB_START_LAZY},
        {"manual", RAPAHUB_START_MANUAL});
CHOICES(restarts, {"permanent", RAPAHUB_RESTART_PERMANENT},
        {"transient", RAPAHUB_RESTART_TRANSIENT}, {"on_failure", RAPAHUB_RESTART_TRANSIENT},
        {"temporary", RAPAHUB_RESTART_TEMPORARY}, {"on_success", RAPAHUB_RESTART_ON_SUCCESS},
        {"on_abnormal", RAPAHUB_RESTART_ON_ABNORMAL}, {"on_watchdog", RAPAHUB_RESTART_ON_WATCHDOG},
        {"on_abort", RAPAHUB_RESTART_ON_ABORT});
CHOICES(classes, {"clean", RAPAHUB_EXIT_CLEAN}, {"code", RAPAHUB_EXIT_CODE},
        {"signal", RAPAHUB_EXIT_SIGNAL}, {"core", RAPAHUB_EXIT_CORE}, {"oom", RAPAHUB_EXIT_OOM},
        {"start_timeout", RAPAHUB_EXIT_START_TIMEOUT}, {"stop_timeout", RAPAHUB_EXIT_STOP_TIMEOUT},
        {"watchdog", RAPAHUB_EXIT_WATCHDOG}, {"protocol", RAPAHUB_EXIT_PROTOCOL},
        {"limit", RAPAHUB_EXIT_LIMIT}, {"spawn", RAPAHUB_EXIT_SPAWN}, {"lost", RAPAHUB_EXIT_LOST},
        {"link", RAPAHUB_EXIT_LINK});
CHOICES(whens_down, {"wait_start", RAPAHUB_WHEN_DOWN_WAIT_START}, {"wait", RAPAHUB_WHEN_DOWN_WAIT},
        {"fail", RAPAHUB_WHEN_DOWN_FAIL});
CHOICES(jitters, {"equal", RAPAHUB_JITTER_EQUAL}, {"none", RAPAHUB_JITTER_NONE},
        {"full", RAPAHUB_JITTER_FULL}, {"decorrelated", RAPAHUB_JITTER_DECORRELATED},
        {"additive", RAPAHUB_JITTER_ADDITIVE});
CHOICES(exhausted, {"park", RAPAHUB_EXHAUSTED_PARK}, {"escalate", RAPAHUB_EXHAUSTED_ESCALATE},
        {"slow_retry", RAPAHUB_EXHAUSTED_SLOW_RETRY});
CHOICES(group_exhausted, {"escalate", RAPAHUB_EXHAUSTED_ESCALATE},
        {"park", RAPAHUB_EXHAUSTED_PARK});
CHOICES(strategies, {"one_for_one", RAPAHUB_ONE_FOR_ONE}, {"one_for_all", RAPAHUB_ONE_FOR_ALL},
        {"rest_for_one", RAPAHUB_REST_FOR_ONE}, {"simple", RAPAHUB_SIMPLE});
CHOICES(shutdowns, {"never", RAPAHUB_AUTO_SHUTDOWN_NEVER},
        {"any_significant", RAPAHUB_AUTO_SHUTDOWN_ANY_SIGNIFICANT},
        {"all_significant", RAPAHUB_AUTO_SHUTDOWN_ALL_SIGNIFICANT});
CHOICES(readies, {"message", RAPAHUB_READY_MESSAGE}, {"probe", RAPAHUB_READY_PROBE},
        {"attach", RAPAHUB_READY_ATTACH});
CHOICES(kill_modes, {"group", RAPAHUB_KILL_GROUP}, {"process", RAPAHUB_KILL_PROCESS},
        {"cgroup", RAPAHUB_KILL_CGROUP});
CHOICES(oom_policies, {"restart", RAPAHUB_OOM_RESTART}, {"stop", RAPAHUB_OOM_STOP},
        {"kill_group", RAPAHUB_OOM_KILL_GROUP});
CHOICES(roles, {"viewer", RAPAHUB_CONTROL_VIEWER}, {"operator", RAPAHUB_CONTROL_OPERATOR},
        {"admin", RAPAHUB_CONTROL_ADMIN});
CHOICES(kinds, {"spsc", RAPAHUB_REGION_SPSC}, {"mpsc", RAPAHUB_REGION_MPSC},
        {"fanout", RAPAHUB_REGION_FANOUT}, {"fanin", RAPAHUB_REGION_FANIN},
        {"sequencer", RAPAHUB_REGION_SEQUENCER}, {"state-v1", RAPAHUB_REGION_STATE_V1},
        {"state-latch", RAPAHUB_REGION_STATE_LATCH});
CHOICES(profiles, {"hardened", RAPAHUB_REGION_HARDENED});
CHOICES(on_deaths, {"hold", RAPAHUB_STAGE_HOLD}, {"freeze", RAPAHUB_STAGE_FREEZE},
        {"evict", RAPAHUB_STAGE_EVICT});
CHOICES(modes, {"broadcast", RAPAHUB_REGION_BROADCAST}, {"work", RAPAHUB_REGION_WORK});
CHOICES(credits, {"drop", RAPAHUB_REGION_DROP}, {"park", RAPAHUB_REGION_PARK},
        {"detach", RAPAHUB_REGION_DETACH});
CHOICES(region_roles, {"producer", RAPAHUB_REGION_ROLE_PRODUCER},
        {"consumer", RAPAHUB_REGION_ROLE_CONSUMER}, {"writer", RAPAHUB_REGION_ROLE_WRITER},
        {"reader", RAPAHUB_REGION_ROLE_READER});
CHOICES(ons_full, {"block", RAPAHUB_ON_FULL_BLOCK}, {"backoff", RAPAHUB_ON_FULL_BACKOFF},
        {"drop", RAPAHUB_ON_FULL_DROP}, {"fail", RAPAHUB_ON_FULL_FAIL});
CHOICES(brutal, {"brutal", 1});

/* Path, maps that have it, type, offset, text for the manual, and further members. */
#define KEY(path_, of_, type_, at_, ...)                                                          \
    {                                                                                             \
        .path = path_, .of = of_, .type = CONFIG_TREE_##type_, .offset = at_, .text = __VA_ARGS__ \
    }

#define PROBE(name_, member_, text_)                                                    \
    KEY("probes." name_ ".period", GUEST, SPAN_OR_ZERO, HOW(member_.period_ns), text_), \
        KEY("probes." name_ ".timeout", GUEST, SPAN, HOW(member_.timeout_ns),           \
            "for an answer (" DEFAULT(PROBE_TIMEOUT_S) "s)"),                           \
        KEY("probes." name_ ".success", GUEST, COUNT, HOW(member_.success),             \
            "so often in a row it has passed (" DEFAULT(PROBE_SUCCESS) ")", .min = 1,   \
            .max = 1000),                                                               \
        KEY("probes." name_ ".failure", GUEST, COUNT, HOW(member_.failure),             \
            "so often in a row it has failed (" DEFAULT(PROBE_FAILURE) ")", .min = 1, .max = 1000)

const struct config_tree_key config_tree_keys_table[] = {
    KEY("supervisor", CONFIG_TREE_OF_FILE | CONFIG_TREE_OF_ITEM, SUPERVISOR, AT(children),
        "the one at the top of the file, and any below another"),
    KEY("limits.guests", CONFIG_TREE_OF_FILE, COUNT, HOST(guests_max),
        "of the host (" DEFAULT(GUESTS) ", or as many as the file has)", .min = 1,
        .max = CONFIG_TREE_GUESTS),
    KEY("limits.payload", CONFIG_TREE_OF_FILE, SMALL_SIZE, HOST(payload_max),
        "bytes of a message (" DEFAULT(PAYLOAD_M) "M)"),
    KEY("limits.slot", CONFIG_TREE_OF_FILE, SMALL_SIZE, HOST(slot_size),
        "bytes of the smallest slots (" DEFAULT(SLOT_K) "K)"),
    KEY("limits.slots", CONFIG_TREE_OF_FILE, COUNT, HOST(slot_count),
        "of those, for each guest (" DEFAULT(SLOTS) ")", .min = 1, .max = 65536),
    KEY("limits.ring", CONFIG_TREE_OF_FILE, COUNT, HOST(ring_size),
        "entries, a power of two (" DEFAULT(RING) ")", .min = 1, .max = 65536),
    KEY("limits.memory", CONFIG_TREE_OF_FILE, SIZE, HOST(var_bytes_max),
        "bytes of slots of all sizes (" DEFAULT(MEMORY_M) "M)"),
    KEY("cgroup", CONFIG_TREE_OF_FILE, TEXT, HOST(cgroup),
        "folder of a cgroup v2 without processes, for those of the guests (the own one)"),
    KEY("starts.parallel", CONFIG_TREE_OF_FILE, COUNT, HOST(starts_parallel_max),
        "guests that start at the same time (" DEFAULT(STARTS_PARALLEL) ")", .min = 1, .max = 255),
    KEY("starts.burst", CONFIG_TREE_OF_FILE, COUNT, HOST(starts_burst),
        "in a row (" DEFAULT(STARTS_BURST) ")", .min = 1, .max = 65536),
    KEY("starts.per_second", CONFIG_TREE_OF_FILE, COUNT, HOST(starts_per_s), "behind that (1,000)",
        .min = 1, .max = 1000000),
    KEY("control.group", CONFIG_TREE_OF_FILE, TEXT, AT(control_group),
        "a group whose members may use the host, from /run/rapahub (none)"),
    KEY("control.role", CONFIG_TREE_OF_FILE, CHOICE, AT(control_role),
        "what they may: look; also call, stop, restart, kill; also upgrade, and stop the host "
        "(viewer)",
        .choices = roles),
    KEY("regions", CONFIG_TREE_OF_FILE, REGIONS, AT(list),
        "event regions, each a map, in which guests have roles (none)"),
    /* keys of a supervisor */
    KEY("name", SUPERVISOR, NAME_TEXT, AT(name),
        "no other child of the file bears it (at the top: the file's name)"),
    KEY("children", SUPERVISOR, CHILDREN, AT(children),
        "guests, each a map, and supervisors, each a map below the key supervisor"),
    KEY("strategy", SUPERVISOR, CHOICE, GROUP(strategy),
        "who goes when a child starts again: itself; all children; those behind it, or who depend "
        "on it; itself, without order (one_for_one)",
        .choices = strategies),
    KEY("intensity", SUPERVISOR, BUDGET, GROUP(restarts_max),
        "restarts of all its children within a period (of one_for_all and rest_for_one "
        "" DEFAULT(GROUP_RESTARTS) "/" DEFAULT(PERIOD_S) "s, else without limit)",
        .second = GROUP(period_ns)),
    KEY("intensity.max", SUPERVISOR, TIMES, GROUP(restarts_max), "the same, as a map"),
    KEY("intensity.period", SUPERVISOR, SPAN_OR_FOREVER, GROUP(period_ns),
        "(" DEFAULT(PERIOD_S) "s)"),
    KEY("on_exhausted", SUPERVISOR, CHOICE, GROUP(on_exhausted),
        "what follows then: it fails, or stays down (escalate)", .choices = group_exhausted),
    KEY("auto_shutdown", SUPERVISOR, CHOICE, GROUP(auto_shutdown),
        "it ends when a significant child has ended for good, or the last of them (never)",
        .choices = shutdowns),
    KEY("children_max", SUPERVISOR, COUNT, GROUP(children_max), "(no limit but the host's)",
        .min = 1, .max = CONFIG_TREE_GUESTS),
    KEY("itself.intensity", SUPERVISOR, BUDGET, HOW(restarts_max),
        "restarts of the supervisor itself (" DEFAULT(RESTARTS) "/" DEFAULT(
            PERIOD_S) "s; of that at the top none: where it fails, "
                      "the command ends)",
        .second = AND(period_ns)),
    KEY("itself.on_exhausted", SUPERVISOR, CHOICE, HOW(on_exhausted), "what follows then (park)",
        .choices = exhausted),
    /* keys of a guest */
    KEY("name", GUEST, NAME_TEXT, AT(name),
        "no other child of the file bears it (the module's own)"),
    KEY("module", GUEST, TEXT, AT(module),
        "path of the shared object, from the file's folder; required"),
    KEY("trust", GUEST, CHOICE, AT(trust), "what it is kept from (that of the option --trust)",
        .choices = trusts),
    KEY("params", GUEST, TEXT, AT(params),
        "handed to the init of its container, as the module wants it"),
    KEY("plain", GUEST, TEXTS, AT(plain), "signatures of a library that knows nothing of rapahub"),
    KEY("roles", GUEST, ROLES, AT(list),
        "its roles in regions of the file, each a map; trusted only (none)"),
    KEY("start", GUEST, CHOICE, HOW(start),
        "with its supervisor; each time when it is called; when somebody asks (eager)",
        .choices = starts),
    KEY("when_down", GUEST, CHOICE, HOW(when_down),
        "what a call does that finds it down (wait_start)", .choices = whens_down),
    KEY("success_exit", GUEST, EXITS, AT(success),
        "statuses and signals that are no failure, as [3, SIGTERM] (0)"),
    KEY("prevent_exit", GUEST, EXITS, AT(prevent), "those it is never started again after (125)"),
    KEY("force_exit", GUEST, EXITS, AT(force), "those it is always started again after"),
    KEY("intensity", GUEST, BUDGET, HOW(restarts_max),
        "its restarts within a period (" DEFAULT(RESTARTS) "/" DEFAULT(PERIOD_S) "s)",
        .second = AND(period_ns)),
    KEY("intensity.max", GUEST, TIMES, HOW(restarts_max), "the same, as a map"),
    KEY("intensity.period", GUEST, SPAN_OR_FOREVER, HOW(period_ns), "(" DEFAULT(PERIOD_S) "s)"),
    KEY("on_exhausted", GUEST, CHOICE, HOW(on_exhausted),
        "what follows then: it stays down; its supervisor fails; it goes on with the longest delay "
        "(park)",
        .choices = exhausted),
    KEY("start_timeout", GUEST, SPAN, HOW(start_timeout_ns),
        "from its start to ready (" DEFAULT(START_TIMEOUT_S) "s)"),
    KEY("heartbeat_misses", GUEST, COUNT, HOW(heartbeat_misses),
        "intervals without a heartbeat, and it is stuck (" DEFAULT(HEARTBEAT_MISSES) ")", .min = 1,
        .max = 1000),
    KEY("stall", GUEST, SPAN_OR_ZERO, HOW(stall_ns),
        "so long it takes nothing, or runs a call without a word, and it is stuck (none)"),
    KEY("overrun", GUEST, SPAN_OR_ZERO, HOW(overrun_ns),
        "so long behind its time-out a call goes on, and it is stuck (none)"),
    PROBE("startup", startup,
          "how often it is asked whether it is up; before, nothing else is (none)"),
    PROBE("liveness", liveness, "whether it is well; failed, it is stuck (none)"),
    PROBE("readiness", readiness, "whether it takes calls; failed, it gets none (none)"),
    KEY("ready", GUEST, CHOICE, HOW(ready),
        "when it serves: as soon as it says so; when its probes passed; when it has attached "
        "(message)",
        .choices = readies),
    KEY("watchdog_signal", GUEST, SIGNAL, HOW(watchdog_signal),
        "what it gets that is stuck (SIGABRT)"),
    KEY("abort", GUEST, SPAN_OR_NONE, HOW(abort_ns),
        "from there to SIGKILL (" DEFAULT(ABORT_MS) "ms)"),
    KEY("debug", GUEST, FLAG, HOW(debug), "it is never stuck (false)"),
    KEY("kill_mode", GUEST, CHOICE, HOW(kill_mode),
        "who dies with it: its process group; nobody else; all it has started (group)",
        .choices = kill_modes),
    KEY("oom_policy", GUEST, CHOICE, HOW(oom_policy),
        "where the kernel killed it for want of memory: as restart says; it stays down; as "
        "restart, and all it has started is killed (restart)",
        .choices = oom_policies),
    KEY("finish", GUEST, TEXTS, AT(finish),
        "a command that runs behind each end of it, before its restart (none)"),
    KEY("finish_timeout", GUEST, SPAN, HOW(finish_timeout_ns),
        "how long that may take (" DEFAULT(FINISH_TIMEOUT_S) "s)"),
    KEY("keep_fds", GUEST, TEXTS, AT(keep_fds),
        "names of descriptors that it gives away for its next life; trusted only (none)"),
    KEY("log.ring", GUEST, SMALL_SIZE, HOW(log_ring),
        "bytes of what it printed that are kept (" DEFAULT(LOG_RING_K) "K)"),
    KEY("log.line", GUEST, SMALL_SIZE, HOW(log_line), "bytes of a line (" DEFAULT(LOG_LINE_K) "K)"),
    KEY("log.rate", GUEST, COUNT, HOW(log_rate),
        "lines in a second; of more their number is told (" DEFAULT(LOG_RATE) ")", .min = 1,
        .max = 100000),
    KEY("limits.address", GUEST, SIZE, LIMIT(address_bytes),
        "bytes of all that it maps (those of the host, as for all below)", .min = 64 << 20),
    KEY("limits.data", GUEST, SIZE, LIMIT(data_bytes), "bytes of its heap", .min = 8 << 20),
    KEY("limits.stack", GUEST, SIZE, LIMIT(stack_bytes), "bytes of a stack", .min = 256 << 10),
    KEY("limits.file", GUEST, SIZE, LIMIT(file_bytes), "bytes of a file that it writes"),
    KEY("limits.core", GUEST, SIZE, LIMIT(core_bytes), "bytes of a core dump"),
    KEY("limits.cpu", GUEST, SIZE, LIMIT(cpu_s), "s of CPU time in one life"),
    KEY("limits.descriptors", GUEST, SIZE, LIMIT(descriptors), "open at once", .min = 16),
    KEY("limits.processes", GUEST, SIZE, LIMIT(processes), "and threads, of the whole user",
        .min = 4),
    KEY("limits.memory_max", GUEST, SIZE, LIMIT(memory_max),
        "bytes of all its processes; above, one is killed: class oom (as those below: none, and "
        "only where there is a cgroup v2)",
        .min = 8 << 20),
    KEY("limits.memory_high", GUEST, SIZE, LIMIT(memory_high),
        "bytes of them; above, they are slowed down", .min = 1 << 20),
    KEY("limits.pids_max", GUEST, SIZE, LIMIT(pids_max), "of its processes and threads", .min = 4),
    KEY("limits.cpu_percent", GUEST, SIZE, LIMIT(cpu_percent), "of one CPU: 150 is one and a half"),
    KEY("limits.required", GUEST, FLAG, LIMIT(required),
        "it does not start where these four cannot be enforced (false)"),
    /* keys of both */
    KEY("restart", CHILD, CHOICE, HOW(restart),
        "after which ends it is started again (permanent; at the top: transient)",
        .choices = restarts),
    KEY("restart", CHILD, CLASSES, HOW(restart_mask), "or a list of them, as [signal, oom]",
        .choices = classes),
    KEY("requires", CHILD, NAMES, 0,
        "siblings without which it does not run: it starts behind them, goes and comes with them",
        .second = RAPAHUB_REQUIRES),
    KEY("wants", CHILD, NAMES, 0, "siblings it starts behind if they start, and without otherwise",
        .second = RAPAHUB_WANTS),
    KEY("after", CHILD, NAMES, 0, "the same", .second = RAPAHUB_AFTER),
    KEY("part_of", CHILD, NAMES, 0, "siblings it goes and comes with", .second = RAPAHUB_PART_OF),
    KEY("backoff.initial", CHILD, SPAN_OR_NONE, HOW(backoff_initial_ns),
        "the delay behind the first restart (" DEFAULT(BACKOFF_INITIAL_MS) "ms)"),
    KEY("backoff.max", CHILD, SPAN, HOW(backoff_max_ns),
        "the longest (" DEFAULT(BACKOFF_MAX_S) "s)"),
    KEY("backoff.factor", CHILD, NUMBER, HOW(backoff_factor),
        "each is so many times the one before (" DEFAULT(BACKOFF_FACTOR) ")", .min = 1, .max = 1e6),
    KEY("backoff.steps", CHILD, COUNT, HOW(backoff_steps),
        "instead: the longest is reached in so many", .min = 1, .max = 1000),
    KEY("backoff.first_immediate", CHILD, NOT_FLAG, HOW(backoff_first),
        "the first restart comes at once (true)"),
    KEY("backoff.jitter", CHILD, CHOICE, HOW(jitter), "which part of a delay is chance (equal)",
        .choices = jitters),
    KEY("backoff.jitter_share", CHILD, NUMBER, HOW(jitter_share),
        "of additive (" DEFAULT(JITTER_SHARE) ")", .min = 0.001, .max = 10),
    KEY("backoff.reset_after", CHILD, SPAN, HOW(reset_after_ns),
        "ready for so long, the delays begin anew (" DEFAULT(RESET_AFTER_S) "s)"),
    KEY("stop", CHILD, WORD, HOW(brutal), "SIGKILL at once", .choices = brutal),
    KEY("stop.drain", CHILD, SPAN_OR_ZERO, HOW(drain_ns),
        "how long calls in flight may take before the goodbye (none)"),
    KEY("stop.goodbye", CHILD, SPAN_OR_NONE, HOW(goodbye_ns),
        "from the goodbye to SIGTERM (" DEFAULT(GOODBYE_MS) "ms)"),
    KEY("stop.term", CHILD, SPAN_OR_NONE, HOW(term_ns),
        "from there to SIGKILL (" DEFAULT(
            TERM_S) "s). Of a supervisor they are together the time in which "
                    "all of it stops"),
    KEY("significant", CHILD, FLAG, HOW(significant), "see auto_shutdown (false)"),
    /* keys of a region: those of `rapahub region create` */
    KEY("name", REGION, LABEL, AT(region.name), "no other region of the file bears it; required"),
    KEY("kind", REGION, CHOICE, MADE(kind),
        "the host makes it; without: it is there, as rapahub region create made it",
        .choices = kinds),
    KEY("profile", REGION, CHOICE, MADE(profile),
        "a role can be taken back from a dead guest only there (hardened)", .choices = profiles),
    KEY("persistent", REGION, FLAG, AT(region.options.persistent),
        "other processes find it by its name, and it stays; one that stands is opened (false: it "
        "goes with the host)"),
    KEY("route", REGION, FLAG, AT(region.options.route),
        "fanout: the host routes it (true; persistent: false, rapahub region route does)"),
    KEY("cells", REGION, COUNT, MADE(cells), "messages that it holds, a power of two (1024)",
        .min = 2, .max = 1 << 24),
    KEY("cell_bytes", REGION, COUNT, MADE(cell_bytes),
        "bytes of a cell, a multiple of 64; a message has 16 less at most (1024)", .min = 64,
        .max = 65536),
    KEY("leases", REGION, COUNT, MADE(leases), "producers and consumers at once (64)", .min = 1,
        .max = 1024),
    KEY("value_bytes", REGION, COUNT, MADE(value_bytes), "states: of the longest value (1024)",
        .min = 1, .max = 1 << 30),
    KEY("buffers", REGION, COUNT, MADE(buffers), "state-latch: places for a value (2)", .min = 2,
        .max = 255),
    KEY("producers", REGION, COUNT, MADE(producers),
        "fanin: each has a ring; sequencer: more than one allows any number of them (1)", .min = 1,
        .max = 255),
    KEY("ring_size", REGION, COUNT, MADE(ring_size),
        "sequencer: positions at once, a power of two (1024)", .min = 2, .max = 1 << 24),
    KEY("user_bytes", REGION, COUNT, MADE(user_bytes),
        "sequencer: bytes of a position, a multiple of 8 (1024)", .min = 8, .max = 1 << 24),
    KEY("stages", REGION, COUNT, MADE(stages), "sequencer (1)", .min = 1, .max = 64),
    KEY("after", REGION, TEXT, AT(region.after),
        "sequencer: stages that follow others, as 1:0,2:0,3:1+2 (none does)"),
    KEY("on_death", REGION, CHOICE, AT(region.on_death),
        "sequencer: a stage that died is waited for, for a while, or not at all (hold)",
        .choices = on_deaths),
    KEY("freeze", REGION, SPAN, AT(region.freeze_ns), "sequencer, on_death freeze: how long (1s)"),
    KEY("consumers", REGION, COUNT, MADE(consumers), "fanout: each has a queue (1)", .min = 1,
        .max = 64),
    KEY("mode", REGION, CHOICE, MADE(mode),
        "fanout: a message is for all consumers, or for one of them (broadcast)", .choices = modes),
    KEY("credit", REGION, CHOICE, MADE(credit),
        "fanout: where the queue of a consumer is full: it goes without, the router waits for it, "
        "or waits for a while and leaves it out (drop)",
        .choices = credits),
    KEY("credit_max", REGION, COUNT, MADE(credit_max),
        "fanout: messages in a queue at most (all its cells)", .min = 1, .max = 1 << 24),
    KEY("detach_after", REGION, SPAN, MADE(detach_after_ns),
        "fanout, credit detach: how long it waits (1s)"),
    KEY("file_mode", REGION, MODE, MADE(file_mode), "persistent: who may open it (600)"),
    /* keys of a role */
    KEY("name", CONFIG_TREE_OF_ROLE, LABEL, ROLE(name), "by which the module finds it; required"),
    KEY("region", CONFIG_TREE_OF_ROLE, LABEL, ROLE(region), "the name of a region; required"),
    KEY("role", CONFIG_TREE_OF_ROLE, CHOICE, ROLE(kind), "what it is there; required",
        .choices = region_roles),
    KEY("index", CONFIG_TREE_OF_ROLE, INDEX, ROLE(index),
        "which consumer of fanout, or producer of fanin (any: the first that is free, the same in "
        "all lives)"),
    KEY("on_full", CONFIG_TREE_OF_ROLE, CHOICE, ROLE(on_full),
        "producer: where the region is full (block)", .choices = ons_full),
    KEY("deliver", CONFIG_TREE_OF_ROLE, FLAG, ROLE(deliver),
        "consumer: messages go to the callback message of the module (false)"),
    {0}};

/* The shapes of a value, as bits of enum config_yaml_kind. */
enum {
    TEXT = 1 << CONFIG_YAML_TEXT,
    LIST = 1 << CONFIG_YAML_LIST,
    MAP = 1 << CONFIG_YAML_MAP,
    TEXT_OR_LIST = TEXT | LIST
};

static const struct {
    unsigned shapes;
    const char *example;
} types[] = {
#define TYPE(name, shapes, example) {shapes, example},
    CONFIG_TREE_TYPES(TYPE)};

bool config_tree_keys_fits(enum config_tree_type type, enum config_yaml_kind shape)
{
    return (types[type].shapes & 1u << shape) != 0;
}

const char *config_tree_keys_example(enum config_tree_type type)
{
    return types[type].example;
}

const struct config_tree_key *config_tree_keys_find(const char *path, unsigned of,
                                                    enum config_yaml_kind shape)
{
    const struct config_tree_key *found = NULL;

    for (const struct config_tree_key *key = config_tree_keys_table; key->path; key++) {
        if ((key->of & of) == 0 || strcmp(key->path, path) != 0)
            continue;
        if (config_tree_keys_fits(key->type, shape))
            return key;
        found = found ? found : key;
    }
    return found;
}

const char *config_tree_keys_of_member(const char *member, unsigned of)
{
    const char *second = NULL;

    for (const struct config_tree_key *key = config_tree_keys_table; key->path; key++) {
        if ((key->of & of) == 0)
            continue;
        if (key->member && strcmp(key->member, member) == 0)
            return key->path;
        if (key->second_member && strcmp(key->second_member, member) == 0)
            second = key->path;
    }
    return second;
}

bool config_tree_keys_is_choice(const char *word)
{
    for (const struct config_tree_key *key = config_tree_keys_table; key->path; key++)
        for (const struct config_tree_choice *choice = key->choices; choice && choice->name;
             choice++)
            if (strcmp(choice->name, word) == 0)
                return true;
    return false;
}

bool config_tree_keys_is_group(const char *path, unsigned of)
{
    size_t size = strlen(path);

    for (const struct config_tree_key *key = config_tree_keys_table; key->path; key++)
        if ((key->of & of) != 0 && strncmp(key->path, path, size) == 0 && key->path[size] == '.')
            return true;
    return false;
}

const char *config_tree_keys_suggest(const char *before, const char *word, unsigned of, char to[32])
{
    struct config_suggest suggest = {word, NULL, CONFIG_SUGGEST_FAR};
    size_t size = strlen(before);

    for (const struct config_tree_key *key = config_tree_keys_table; key->path; key++) {
        const char *rest = key->path + size;
        char candidate[32];

        if ((key->of & of) == 0 || strncmp(key->path, before, size) != 0)
            continue;
        snprintf(candidate, sizeof candidate, "%.*s", (int)strcspn(rest, "."), rest);
        config_suggest_consider(&suggest, candidate);
        if (suggest.nearest == candidate) {
            snprintf(to, 32, "%s", candidate);
            suggest.nearest = to;
        }
    }
    return suggest.nearest;
}
