/* SPDX-License-Identifier: Apache-2.0 */
#include "host/config/tree_keys.h"

#include <stdio.h>
#include <string.h>

#include "host/config/suggest.h"
#include "host/supervise/defaults.h"

#define GUEST        CONFIG_TREE_OF_GUEST
#define SUPERVISOR   CONFIG_TREE_OF_SUPERVISOR
#define CHILD        (CONFIG_TREE_OF_GUEST | CONFIG_TREE_OF_SUPERVISOR)
#define AT(member)   offsetof(struct config_tree_node, member)
#define HOW(member_) AT(how) + offsetof(struct rapahub_supervision, member_), .member = #member_
#define AND(member_) \
    AT(how) + offsetof(struct rapahub_supervision, member_), .second_member = #member_
#define GROUP(member) AT(group) + offsetof(struct rapahub_supervisor_options, member)
#define LIMIT(member) AT(limits) + offsetof(struct rapahub_limits, member)
#define DEFAULT(name) HOST_DEFAULT_TEXT(name)
#define HOST(member)  AT(host) + offsetof(struct rapahub_host_options, member)

static const struct config_tree_choice trusts[] = {{"standard", RAPAHUB_TRUST_STANDARD},
                                                   {"strict", RAPAHUB_TRUST_STRICT},
                                                   {"trusted", RAPAHUB_TRUST_TRUSTED},
                                                   {NULL, 0}};
static const struct config_tree_choice starts[] = {{"eager", RAPAHUB_START_EAGER},
                                                   {"lazy", RAPAHUB_START_LAZY},
                                                   {"manual", RAPAHUB_START_MANUAL},
                                                   {NULL, 0}};
static const struct config_tree_choice restarts[] = {{"permanent", RAPAHUB_RESTART_PERMANENT},
                                                     {"transient", RAPAHUB_RESTART_TRANSIENT},
                                                     {"on_failure", RAPAHUB_RESTART_TRANSIENT},
                                                     {"temporary", RAPAHUB_RESTART_TEMPORARY},
                                                     {"on_success", RAPAHUB_RESTART_ON_SUCCESS},
                                                     {"on_abnormal", RAPAHUB_RESTART_ON_ABNORMAL},
                                                     {"on_watchdog", RAPAHUB_RESTART_ON_WATCHDOG},
                                                     {"on_abort", RAPAHUB_RESTART_ON_ABORT},
                                                     {NULL, 0}};
static const struct config_tree_choice classes[] = {{"clean", RAPAHUB_EXIT_CLEAN},
                                                    {"code", RAPAHUB_EXIT_CODE},
                                                    {"signal", RAPAHUB_EXIT_SIGNAL},
                                                    {"core", RAPAHUB_EXIT_CORE},
                                                    {"oom", RAPAHUB_EXIT_OOM},
                                                    {"start_timeout", RAPAHUB_EXIT_START_TIMEOUT},
                                                    {"stop_timeout", RAPAHUB_EXIT_STOP_TIMEOUT},
                                                    {"watchdog", RAPAHUB_EXIT_WATCHDOG},
                                                    {"protocol", RAPAHUB_EXIT_PROTOCOL},
                                                    {"limit", RAPAHUB_EXIT_LIMIT},
                                                    {"spawn", RAPAHUB_EXIT_SPAWN},
                                                    {"lost", RAPAHUB_EXIT_LOST},
                                                    {"link", RAPAHUB_EXIT_LINK},
                                                    {NULL, 0}};
static const struct config_tree_choice whens_down[] = {{"wait_start", RAPAHUB_WHEN_DOWN_WAIT_START},
                                                       {"wait", RAPAHUB_WHEN_DOWN_WAIT},
                                                       {"fail", RAPAHUB_WHEN_DOWN_FAIL},
                                                       {NULL, 0}};
static const struct config_tree_choice jitters[] = {
    {"equal", RAPAHUB_JITTER_EQUAL},       {"none", RAPAHUB_JITTER_NONE},
    {"full", RAPAHUB_JITTER_FULL},         {"decorrelated", RAPAHUB_JITTER_DECORRELATED},
    {"additive", RAPAHUB_JITTER_ADDITIVE}, {NULL, 0}};
static const struct config_tree_choice exhausted[] = {{"park", RAPAHUB_EXHAUSTED_PARK},
                                                      {"escalate", RAPAHUB_EXHAUSTED_ESCALATE},
                                                      {"slow_retry", RAPAHUB_EXHAUSTED_SLOW_RETRY},
                                                      {NULL, 0}};
static const struct config_tree_choice group_exhausted[] = {
    {"escalate", RAPAHUB_EXHAUSTED_ESCALATE}, {"park", RAPAHUB_EXHAUSTED_PARK}, {NULL, 0}};
static const struct config_tree_choice strategies[] = {{"one_for_one", RAPAHUB_ONE_FOR_ONE},
                                                       {"one_for_all", RAPAHUB_ONE_FOR_ALL},
                                                       {"rest_for_one", RAPAHUB_REST_FOR_ONE},
                                                       {"simple", RAPAHUB_SIMPLE},
                                                       {NULL, 0}};
static const struct config_tree_choice shutdowns[] = {
    {"never", RAPAHUB_AUTO_SHUTDOWN_NEVER},
    {"any_significant", RAPAHUB_AUTO_SHUTDOWN_ANY_SIGNIFICANT},
    {"all_significant", RAPAHUB_AUTO_SHUTDOWN_ALL_SIGNIFICANT},
    {NULL, 0}};
static const struct config_tree_choice readies[] = {{"message", RAPAHUB_READY_MESSAGE},
                                                    {"probe", RAPAHUB_READY_PROBE},
                                                    {"attach", RAPAHUB_READY_ATTACH},
                                                    {NULL, 0}};
static const struct config_tree_choice kill_modes[] = {{"group", RAPAHUB_KILL_GROUP},
                                                       {"process", RAPAHUB_KILL_PROCESS},
                                                       {"cgroup", RAPAHUB_KILL_CGROUP},
                                                       {NULL, 0}};
static const struct config_tree_choice oom_policies[] = {{"restart", RAPAHUB_OOM_RESTART},
                                                         {"stop", RAPAHUB_OOM_STOP},
                                                         {"kill_group", RAPAHUB_OOM_KILL_GROUP},
                                                         {NULL, 0}};
static const struct config_tree_choice brutal[] = {{"brutal", 1}, {NULL, 0}};

#define KEY(path_, of_, type_, ...)                                        \
    {                                                                      \
        .path = path_, .of = of_, .type = CONFIG_TREE_##type_, __VA_ARGS__ \
    }

#define PROBE(name_, member_, text_)                                                              \
    KEY("probes." name_ ".period", GUEST, SPAN_OR_ZERO, .offset = HOW(member_.period_ns),         \
        .text = text_),                                                                           \
        KEY("probes." name_ ".timeout", GUEST, SPAN, .offset = HOW(member_.timeout_ns),           \
            .text = "for an answer (" DEFAULT(PROBE_TIMEOUT_S) "s)"),                             \
        KEY("probes." name_ ".success", GUEST, COUNT, .offset = HOW(member_.success), .min = 1,   \
            .max = 1000, .text = "so often in a row it has passed (" DEFAULT(PROBE_SUCCESS) ")"), \
        KEY("probes." name_ ".failure", GUEST, COUNT, .offset = HOW(member_.failure), .min = 1,   \
            .max = 1000, .text = "so often in a row it has failed (" DEFAULT(PROBE_FAILURE) ")")

const struct config_tree_key config_tree_keys_table[] = {
    KEY("supervisor", CONFIG_TREE_OF_FILE | CONFIG_TREE_OF_ITEM, SUPERVISOR, .offset = AT(children),
        .text = "the one at the top of the file, and any below another"),
    KEY("limits.guests", CONFIG_TREE_OF_FILE, COUNT, .offset = HOST(guests_max), .min = 1,
        .max = CONFIG_TREE_GUESTS,
        .text = "of the host (" DEFAULT(GUESTS) ", or as many as the file has)"),
    KEY("limits.payload", CONFIG_TREE_OF_FILE, SMALL_SIZE, .offset = HOST(payload_max),
        .text = "bytes of a message (" DEFAULT(PAYLOAD_M) "M)"),
    KEY("limits.slot", CONFIG_TREE_OF_FILE, SMALL_SIZE, .offset = HOST(slot_size),
        .text = "bytes of the smallest slots (" DEFAULT(SLOT_K) "K)"),
    KEY("limits.slots", CONFIG_TREE_OF_FILE, COUNT, .offset = HOST(slot_count), .min = 1,
        .max = 65536, .text = "of those, for each guest (" DEFAULT(SLOTS) ")"),
    KEY("limits.ring", CONFIG_TREE_OF_FILE, COUNT, .offset = HOST(ring_size), .min = 1,
        .max = 65536, .text = "entries, a power of two (" DEFAULT(RING) ")"),
    KEY("limits.memory", CONFIG_TREE_OF_FILE, SIZE, .offset = HOST(var_bytes_max),
        .text = "bytes of slots of all sizes (" DEFAULT(MEMORY_M) "M)"),
    KEY("cgroup", CONFIG_TREE_OF_FILE, TEXT, .offset = HOST(cgroup),
        .text = "folder of a cgroup v2 without processes, for those of the guests (the own one)"),
    KEY("starts.parallel", CONFIG_TREE_OF_FILE, COUNT, .offset = HOST(starts_parallel_max),
        .min = 1, .max = 255,
        .text = "guests that start at the same time (" DEFAULT(STARTS_PARALLEL) ")"),
    KEY("starts.burst", CONFIG_TREE_OF_FILE, COUNT, .offset = HOST(starts_burst), .min = 1,
        .max = 65536, .text = "in a row (" DEFAULT(STARTS_BURST) ")"),
    KEY("starts.per_second", CONFIG_TREE_OF_FILE, COUNT, .offset = HOST(starts_per_s), .min = 1,
        .max = 1000000, .text = "behind that (1,000)"),
    /* keys of a supervisor */
    KEY("name", SUPERVISOR, NAME_TEXT, .offset = AT(name),
        .text = "no other child of the file bears it (at the top: the file's name)"),
    KEY("children", SUPERVISOR, CHILDREN, .offset = AT(children),
        .text = "guests, each a map, and supervisors, each a map below the key supervisor"),
    KEY("strategy", SUPERVISOR, CHOICE, .offset = GROUP(strategy), .choices = strategies,
        .text = "who goes when a child starts again: itself; all children; those behind it, or who "
                "depend on it; itself, without order (one_for_one)"),
    KEY("intensity", SUPERVISOR, BUDGET, .offset = GROUP(restarts_max), .second = GROUP(period_ns),
        .text = "restarts of all its children within a period (of one_for_all and rest_for_one "
                "" DEFAULT(GROUP_RESTARTS) "/" DEFAULT(PERIOD_S) "s, else without limit)"),
    KEY("intensity.max", SUPERVISOR, TIMES, .offset = GROUP(restarts_max),
        .text = "the same, as a map"),
    KEY("intensity.period", SUPERVISOR, SPAN_OR_FOREVER, .offset = GROUP(period_ns),
        .text = "(" DEFAULT(PERIOD_S) "s)"),
    KEY("on_exhausted", SUPERVISOR, CHOICE, .offset = GROUP(on_exhausted),
        .choices = group_exhausted,
        .text = "what follows then: it fails, or stays down (escalate)"),
    KEY("auto_shutdown", SUPERVISOR, CHOICE, .offset = GROUP(auto_shutdown), .choices = shutdowns,
        .text = "it ends when a significant child has ended for good, or the last of them (never)"),
    KEY("children_max", SUPERVISOR, COUNT, .offset = GROUP(children_max), .min = 1,
        .max = CONFIG_TREE_GUESTS, .text = "(no limit but the host's)"),
    KEY("itself.intensity", SUPERVISOR, BUDGET, .offset = HOW(restarts_max),
        .second = AND(period_ns),
        .text = "restarts of the supervisor itself (" DEFAULT(RESTARTS) "/" DEFAULT(
            PERIOD_S) "s; of that at the top none: where it fails, "
                      "the command ends)"),
    KEY("itself.on_exhausted", SUPERVISOR, CHOICE, .offset = HOW(on_exhausted),
        .choices = exhausted, .text = "what follows then (park)"),
    /* keys of a guest */
    KEY("name", GUEST, NAME_TEXT, .offset = AT(name),
        .text = "no other child of the file bears it (the module's own)"),
    KEY("module", GUEST, TEXT, .offset = AT(module),
        .text = "path of the shared object, from the file's folder; required"),
    KEY("trust", GUEST, CHOICE, .offset = AT(trust), .choices = trusts,
        .text = "what it is kept from (that of the option --trust)"),
    KEY("params", GUEST, TEXT, .offset = AT(params),
        .text = "handed to the init of its container, as the module wants it"),
    KEY("plain", GUEST, TEXTS, .offset = AT(plain),
        .text = "signatures of a library that knows nothing of rapahub"),
    KEY("start", GUEST, CHOICE, .offset = HOW(start), .choices = starts,
        .text = "with its supervisor; each time when it is called; when somebody asks (eager)"),
    KEY("when_down", GUEST, CHOICE, .offset = HOW(when_down), .choices = whens_down,
        .text = "what a call does that finds it down (wait_start)"),
    KEY("success_exit", GUEST, EXITS, .offset = AT(success),
        .text = "statuses and signals that are no failure, as [3, SIGTERM] (0)"),
    KEY("prevent_exit", GUEST, EXITS, .offset = AT(prevent),
        .text = "those it is never started again after (125)"),
    KEY("force_exit", GUEST, EXITS, .offset = AT(force),
        .text = "those it is always started again after"),
    KEY("intensity", GUEST, BUDGET, .offset = HOW(restarts_max), .second = AND(period_ns),
        .text = "its restarts within a period (" DEFAULT(RESTARTS) "/" DEFAULT(PERIOD_S) "s)"),
    KEY("intensity.max", GUEST, TIMES, .offset = HOW(restarts_max), .text = "the same, as a map"),
    KEY("intensity.period", GUEST, SPAN_OR_FOREVER, .offset = HOW(period_ns),
        .text = "(" DEFAULT(PERIOD_S) "s)"),
    KEY("on_exhausted", GUEST, CHOICE, .offset = HOW(on_exhausted), .choices = exhausted,
        .text = "what follows then: it stays down; its supervisor fails; it goes on with the "
                "longest delay (park)"),
    KEY("start_timeout", GUEST, SPAN, .offset = HOW(start_timeout_ns),
        .text = "from its start to ready (" DEFAULT(START_TIMEOUT_S) "s)"),
    KEY("heartbeat_misses", GUEST, COUNT, .offset = HOW(heartbeat_misses), .min = 1, .max = 1000,
        .text = "intervals without a heartbeat, and it is stuck (" DEFAULT(HEARTBEAT_MISSES) ")"),
    KEY("stall", GUEST, SPAN_OR_ZERO, .offset = HOW(stall_ns),
        .text = "so long it takes nothing, or runs a call without a word, and it is stuck (none)"),
    KEY("overrun", GUEST, SPAN_OR_ZERO, .offset = HOW(overrun_ns),
        .text = "so long behind its time-out a call goes on, and it is stuck (none)"),
    PROBE("startup", startup,
          "how often it is asked whether it is up; before, nothing else is (none)"),
    PROBE("liveness", liveness, "whether it is well; failed, it is stuck (none)"),
    PROBE("readiness", readiness, "whether it takes calls; failed, it gets none (none)"),
    KEY("ready", GUEST, CHOICE, .offset = HOW(ready), .choices = readies,
        .text = "when it serves: as soon as it says so; when its probes passed; when it has "
                "attached (message)"),
    KEY("watchdog_signal", GUEST, SIGNAL, .offset = HOW(watchdog_signal),
        .text = "what it gets that is stuck (SIGABRT)"),
    KEY("abort", GUEST, SPAN_OR_NONE, .offset = HOW(abort_ns),
        .text = "from there to SIGKILL (" DEFAULT(ABORT_MS) "ms)"),
    KEY("debug", GUEST, FLAG, .offset = HOW(debug), .text = "it is never stuck (false)"),
    KEY("kill_mode", GUEST, CHOICE, .offset = HOW(kill_mode), .choices = kill_modes,
        .text = "who dies with it: its process group; nobody else; all it has started (group)"),
    KEY("oom_policy", GUEST, CHOICE, .offset = HOW(oom_policy), .choices = oom_policies,
        .text = "where the kernel killed it for want of memory: as restart says; it stays down; as "
                "restart, and all it has started is killed (restart)"),
    KEY("finish", GUEST, TEXTS, .offset = AT(finish),
        .text = "a command that runs behind each end of it, before its restart (none)"),
    KEY("finish_timeout", GUEST, SPAN, .offset = HOW(finish_timeout_ns),
        .text = "how long that may take (" DEFAULT(FINISH_TIMEOUT_S) "s)"),
    KEY("keep_fds", GUEST, TEXTS, .offset = AT(keep_fds),
        .text = "names of descriptors that it gives away for its next life; trusted only (none)"),
    KEY("log.ring", GUEST, SMALL_SIZE, .offset = HOW(log_ring),
        .text = "bytes of what it printed that are kept (" DEFAULT(LOG_RING_K) "K)"),
    KEY("log.line", GUEST, SMALL_SIZE, .offset = HOW(log_line),
        .text = "bytes of a line (" DEFAULT(LOG_LINE_K) "K)"),
    KEY("log.rate", GUEST, COUNT, .offset = HOW(log_rate), .min = 1, .max = 100000,
        .text = "lines in a second; of more their number is told (" DEFAULT(LOG_RATE) ")"),
    KEY("limits.address", GUEST, SIZE, .offset = LIMIT(address_bytes), .min = 64 << 20,
        .text = "bytes of all that it maps (those of the host, as for all below)"),
    KEY("limits.data", GUEST, SIZE, .offset = LIMIT(data_bytes), .min = 8 << 20,
        .text = "bytes of its heap"),
    KEY("limits.stack", GUEST, SIZE, .offset = LIMIT(stack_bytes), .min = 256 << 10,
        .text = "bytes of a stack"),
    KEY("limits.file", GUEST, SIZE, .offset = LIMIT(file_bytes),
        .text = "bytes of a file that it writes"),
    KEY("limits.core", GUEST, SIZE, .offset = LIMIT(core_bytes), .text = "bytes of a core dump"),
    KEY("limits.cpu", GUEST, SIZE, .offset = LIMIT(cpu_s), .text = "s of CPU time in one life"),
    KEY("limits.descriptors", GUEST, SIZE, .offset = LIMIT(descriptors), .min = 16,
        .text = "open at once"),
    KEY("limits.processes", GUEST, SIZE, .offset = LIMIT(processes), .min = 4,
        .text = "and threads, of the whole user"),
    KEY("limits.memory_max", GUEST, SIZE, .offset = LIMIT(memory_max), .min = 8 << 20,
        .text =
            "bytes of all its processes; above, one is killed: class oom (as those below: none, "
            "and only where there is a cgroup v2)"),
    KEY("limits.memory_high", GUEST, SIZE, .offset = LIMIT(memory_high), .min = 1 << 20,
        .text = "bytes of them; above, they are slowed down"),
    KEY("limits.pids_max", GUEST, SIZE, .offset = LIMIT(pids_max), .min = 4,
        .text = "of its processes and threads"),
    KEY("limits.cpu_percent", GUEST, SIZE, .offset = LIMIT(cpu_percent),
        .text = "of one CPU: 150 is one and a half"),
    KEY("limits.required", GUEST, FLAG, .offset = LIMIT(required),
        .text = "it does not start where these four cannot be enforced (false)"),
    /* keys of both */
    KEY("restart", CHILD, CHOICE, .offset = HOW(restart), .choices = restarts,
        .text = "after which ends it is started again (permanent; at the top: transient)"),
    KEY("restart", CHILD, CLASSES, .offset = HOW(restart_mask), .choices = classes,
        .text = "or a list of them, as [signal, oom]"),
    KEY("requires", CHILD, NAMES, .second = RAPAHUB_REQUIRES,
        .text = "siblings without which it does not run: it starts behind them, goes and comes "
                "with them"),
    KEY("wants", CHILD, NAMES, .second = RAPAHUB_WANTS,
        .text = "siblings it starts behind if they start, and without otherwise"),
    KEY("after", CHILD, NAMES, .second = RAPAHUB_AFTER, .text = "the same"),
    KEY("part_of", CHILD, NAMES, .second = RAPAHUB_PART_OF,
        .text = "siblings it goes and comes with"),
    KEY("backoff.initial", CHILD, SPAN_OR_NONE, .offset = HOW(backoff_initial_ns),
        .text = "the delay behind the first restart (" DEFAULT(BACKOFF_INITIAL_MS) "ms)"),
    KEY("backoff.max", CHILD, SPAN, .offset = HOW(backoff_max_ns),
        .text = "the longest (" DEFAULT(BACKOFF_MAX_S) "s)"),
    KEY("backoff.factor", CHILD, NUMBER, .offset = HOW(backoff_factor), .min = 1, .max = 1e6,
        .text = "each is so many times the one before (" DEFAULT(BACKOFF_FACTOR) ")"),
    KEY("backoff.steps", CHILD, COUNT, .offset = HOW(backoff_steps), .min = 1, .max = 1000,
        .text = "instead: the longest is reached in so many"),
    KEY("backoff.first_immediate", CHILD, NOT_FLAG, .offset = HOW(backoff_first),
        .text = "the first restart comes at once (true)"),
    KEY("backoff.jitter", CHILD, CHOICE, .offset = HOW(jitter), .choices = jitters,
        .text = "which part of a delay is chance (equal)"),
    KEY("backoff.jitter_share", CHILD, NUMBER, .offset = HOW(jitter_share), .min = 0.001, .max = 10,
        .text = "of additive (" DEFAULT(JITTER_SHARE) ")"),
    KEY("backoff.reset_after", CHILD, SPAN, .offset = HOW(reset_after_ns),
        .text = "ready for so long, the delays begin anew (" DEFAULT(RESET_AFTER_S) "s)"),
    KEY("stop", CHILD, WORD, .offset = HOW(brutal), .choices = brutal, .text = "SIGKILL at once"),
    KEY("stop.drain", CHILD, SPAN_OR_ZERO, .offset = HOW(drain_ns),
        .text = "how long calls in flight may take before the goodbye (none)"),
    KEY("stop.goodbye", CHILD, SPAN_OR_NONE, .offset = HOW(goodbye_ns),
        .text = "from the goodbye to SIGTERM (" DEFAULT(GOODBYE_MS) "ms)"),
    KEY("stop.term", CHILD, SPAN_OR_NONE, .offset = HOW(term_ns),
        .text = "from there to SIGKILL (" DEFAULT(
            TERM_S) "s). Of a supervisor they are together the time in which "
                    "all of it stops"),
    KEY("significant", CHILD, FLAG, .offset = HOW(significant),
        .text = "see auto_shutdown (false)"),
    {0}};

bool config_tree_keys_fits(enum config_tree_type type, enum config_yaml_kind shape)
{
    switch (type) {
    case CONFIG_TREE_SUPERVISOR:
        return shape == CONFIG_YAML_MAP;
    case CONFIG_TREE_CHILDREN:
    case CONFIG_TREE_CLASSES:
        return shape == CONFIG_YAML_LIST;
    case CONFIG_TREE_TEXTS:
    case CONFIG_TREE_NAMES:
    case CONFIG_TREE_EXITS:
        return shape != CONFIG_YAML_MAP;
    default:
        return shape == CONFIG_YAML_TEXT;
    }
}

const char *config_tree_keys_example(enum config_tree_type type)
{
    static const char *const examples[] = {
        [CONFIG_TREE_SPAN] = "a duration, as 500ms or 30s",
        [CONFIG_TREE_SPAN_OR_NONE] = "a duration, as 500ms, or none",
        [CONFIG_TREE_SPAN_OR_FOREVER] = "a duration, as 60s, or forever",
        [CONFIG_TREE_SPAN_OR_ZERO] = "a duration, as 500ms, or none",
        [CONFIG_TREE_SIZE] = "a size, as 64M",
        [CONFIG_TREE_SMALL_SIZE] = "a size, as 64K",
        [CONFIG_TREE_COUNT] = "a whole number",
        [CONFIG_TREE_NUMBER] = "a number",
        [CONFIG_TREE_FLAG] = "true or false",
        [CONFIG_TREE_NOT_FLAG] = "true or false",
        [CONFIG_TREE_CHOICE] = "a word",
        [CONFIG_TREE_WORD] = "a word",
        [CONFIG_TREE_TIMES] = "a number from 1 to 256, or none",
        [CONFIG_TREE_BUDGET] = "a budget, as 5/60s, or none",
        [CONFIG_TREE_NAME_TEXT] = "a name",
        [CONFIG_TREE_TEXT] = "a text",
        [CONFIG_TREE_TEXTS] = "a list of texts",
        [CONFIG_TREE_NAMES] = "names of siblings, as [store, log]",
        [CONFIG_TREE_SIGNAL] = "a signal, as SIGTERM",
        [CONFIG_TREE_EXITS] = "statuses and signals, as [3, SIGTERM]",
        [CONFIG_TREE_CLASSES] = "a list of ends, as [signal, oom]",
        [CONFIG_TREE_CHILDREN] = "a list of guests and supervisors",
        [CONFIG_TREE_SUPERVISOR] = "a map with the keys of a supervisor",
    };

    return examples[type];
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
