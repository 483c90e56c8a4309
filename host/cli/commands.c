/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/commands.h"

#include "host/cli/call_options.h"
#include "host/cli/command/help.h"
#include "host/supervise/defaults.h"

/* Name, function, kind of the operands, least and most of them, how they are called, summary, text,
 * example, members of the document, options; with NAMED also the schema, and whether it is hidden.
 */
#define COMMAND(name_, ...) NAMED(name_, "rapahub." name_ "/1", __VA_ARGS__, false)
#define NAMED(name_, schema_, run_, operand_, min_, max_, operands_, summary_, text_, example_, \
              members_, options_, hidden_)                                                      \
    {                                                                                           \
        .name = name_, .operands = operands_, .summary = summary_, .text = text_,               \
        .example = example_, .schema = schema_, .members = members_, .options = options_,       \
        .operand = CLI_OPERAND_##operand_, .operands_min = min_, .operands_max = max_,          \
        .hidden = hidden_, .run = run_                                                          \
    }

static const struct cli_option new_options[] = {
    VALUE(CHOICE, "template", "T", "what the folder is filled with",
          .choices = "basic|state|plain|cxx", .fallback = "basic"),
    VALUE(FOLDER, "dir", "DIR", "the new folder (default: the name, here)"), END};

static const struct cli_option build_options[] = {
    FLAG("release", "optimise (default: a debug build)"),
    VALUE(CHOICE, "sanitize", "S", "build with a sanitizer", .choices = "asan|tsan|ubsan"), END};

static const struct cli_option run_options[] = {
    VALUE(TEXT, "name", "NAME", "of the host, for the other commands (default: the first guest's)"),
    VALUE(CHOICE, "trust", "L", "what the guests are kept from; strict is refused by this release",
          .choices = "standard|strict|trusted", .fallback = "standard",
          .variable = "RAPAHUB_TRUST"),
    VALUE(CHOICE, "restart", "R",
          "start a guest that died again: always, unless it ended with status 0, never",
          .choices = "permanent|transient|temporary", .fallback = "permanent"),
    VALUE(TEXT, "budget", "N/DUR",
          "restarts within a period before it is given up; none: no restart",
          .fallback = HOST_DEFAULT_TEXT(RESTARTS) "/" HOST_DEFAULT_TEXT(PERIOD_S) "s"),
    CLI_LIMIT_OPTION,
    CLI_PLAIN_OPTION,
    CLI_PARAMS_OPTION,
    VALUE(TEXT, "role", "NAME=KIND:REGION[#INDEX][,OPTION]",
          "a role of the module in an event region that is there: producer, consumer, writer or "
          "reader; needs --trust trusted; default of INDEX: the first that is free; OPTION is "
          "deliver or on_full=WHAT",
          .repeats = true),
    FLAG("check", "only look whether the tree is right; nothing is started"),
    FLAG("anonymous", "also take guests that this host does not start; prints the path they need"),
    VALUE(TEXT, "hub-path", "PATH",
          "with --anonymous: where their segment lies (default: a new file in /dev/shm)"),
    VALUE(
        TEXT, "control-group", "GROUP[:ROLE]",
        "a group whose members may use the host, from /run/rapahub: viewer (looks), operator (and "
        "calls, stops, restarts, kills) or admin (and upgrades, stops the host); default: viewer"),
    END};

static const struct cli_option call_options[] = {CLI_CALL_OPTIONS, END};

#define LOAD_OPTION FLAG("load", "also run the file, in a process of its own with your rights")
static const struct cli_option inspect_options[] = {LOAD_OPTION, CLI_PARAMS_OPTION, END};

static const struct cli_option logs_options[] = {
    FLAG("follow", "go on with new lines until Ctrl-C", .letter = 'f'),
    VALUE(SPAN, "since", "DUR", "not older (default: all kept)"),
    VALUE(CHOICE, "level", "L", "this one and graver", .choices = "error|warn|info|debug",
          .fallback = "info"),
    END};

static const struct cli_option upgrade_options[] = {
    FLAG("check", "only compare the methods that the file says; nothing changes"), LOAD_OPTION,
    END};

static const struct cli_option doctor_options[] = {
    FLAG("fix", "remove segments whose host is dead"), END};

static const struct cli_option ps_options[] = {
    FLAG("tree", "as a tree, with supervisors, incarnations and failures"), END};

#define CHILD_MEMBERS                                                                       \
    "name, host, number, parent, supervisor, strategy, state, pid, incarnation, restarts, " \
    "failures, budget, due_ns"
#define GUEST_MEMBERS \
    "name, host, pid, state, trust, epoch, restarts, uptime_ns, calls, resident_bytes"

const struct cli_command cli_commands[] = {
    COMMAND("new", cli_new, FREE, 1, 1, "NAME", "make the folder of a new chimod",
            "Makes a folder with a chimod that builds, runs and has a test. A folder that exists\n"
            "is refused. Templates: basic (functions), state (a counter that is saved and\n"
            "loaded), plain (a library that knows nothing of rapahub), cxx (C++).",
            "rapahub new calc", "name, folder, template, files[]", new_options),
    COMMAND("build", cli_build, FOLDER, 0, 1, "[DIR]", "configure and build a chimod's folder",
            "Runs CMake in DIR (default: here) into DIR/build, with Ninja where it is there, and\n"
            "prints one line about each module it made. The output of CMake is shown where it\n"
            "fails, or with -v.",
            "rapahub build --release",
            "folder, duration_ns, modules[{file, size_bytes, abi, methods, needs[]}]",
            build_options),
    COMMAND("run", cli_run, FILE, 0, -1, "[FILE|DIR...|TREE.yaml]",
            "a host in the foreground with these guests",
            "Starts a guest process for each FILE (of a DIR: for the modules in its build/) and\n"
            "serves until Ctrl-C, SIGTERM or `rapahub stop`. What happens is told on standard\n"
            "error; with -o json or ndjson as one object an event on standard output.\n"
            "With --anonymous there need be no FILE: guests come by themselves.\n"
            "A TREE.yaml names guests and supervisors, as rapahub-tree(5) says.",
            "rapahub run build/calc.so\n"
            "rapahub run --check shop.yaml",
            "time, event, guest{name, peer, epoch, pid}, cause, rule, uptime_ns, calls_lost, "
            "restarts, budget, due_ns, trust, layers[]; hub_path; file, guests, supervisors",
            run_options),
    COMMAND("call", cli_call, TARGET, 1, -1, "TARGET [ARG...]", "call a method once",
            "TARGET is NAME.METHOD of a running guest (NAME#2.METHOD: its container 2), or\n"
            "FILE:METHOD: then a host runs for this one call. METHOD is a name or a whole\n"
            "signature. Arguments are numbers, true, false, text, bytes as text or hex:00ff,\n"
            "records as {x: 1.5, y: 2} or {\"x\": 1.5}; @FILE and - give the content of a file\n"
            "or of standard input to a string or bytes. Ctrl-C cancels; a second one ends at\n"
            "once. What begins with a dash and is no number follows behind --.",
            "rapahub call calc.add 40 2\n"
            "rapahub call build/calc.so:add 40 2\n"
            "rapahub call ./libz.so.1:'crc32(u64, bytes) -> u64' 0 hello",
            "ok, result, method, guest{name, peer, epoch, pid}, duration_ns", call_options),
    COMMAND("ps", cli_ps, NONE, 0, 0, "", "this user's hosts and guests",
            "Lists the guests of all hosts of this user that have a control socket. With --tree\n"
            "supervisors and guests, each below its supervisor.",
            "rapahub ps\n"
            "rapahub ps --tree",
            "guests[{" GUEST_MEMBERS "}]; with --tree children[{" CHILD_MEMBERS "}]", ps_options),
    COMMAND("stats", cli_stats, GUEST, 0, 1, "[NAME]", "what guests have sent, waited for, broken",
            "Counters of each guest, all its lives, and how much of everything there is now.\n"
            "NAME is a guest or a host; without it: all. With a guest's NAME, or -o wide, a\n"
            "line for each figure.",
            "rapahub stats calc", "guests[{name, host, counters{}, gauges{}, violations{RULE}}]",
            NULL),
    COMMAND(
        "stop", cli_stop, GUEST, 1, 1, "NAME",
        "stop a guest, a supervisor, or a host with all of them",
        "Says goodbye, waits, and kills at the stop time-out. HOST/GUEST where two hosts have\n"
        "a guest of that name; HOST/ for the host where a guest is called like it. A guest of a\n"
        "tree goes with those that may not run without it, a supervisor with all its children;\n"
        "`rapahub restart` brings them back.",
        "rapahub stop calc", "host, guest", NULL),
    COMMAND(
        "restart", cli_stop_restart, GUEST, 1, 1, "NAME",
        "a new life for a guest or a supervisor, its budget cleared",
        "Stops it and starts it, and waits until it is ready; one that is stopped, or was given\n"
        "up, starts. It counts as no failure. In a tree those that may not run without it go\n"
        "and come with it, and with a supervisor all its children, in their order.",
        "rapahub restart store", "host, guest", NULL),
    COMMAND("kill", cli_stop_kill, GUEST, 1, 1, "NAME", "SIGKILL a guest, now",
            "What follows is a death like any other: it is started again as its budget allows.",
            "rapahub kill calc", "host, guest", NULL),
    COMMAND("upgrade", cli_upgrade, FILE_OR_GUEST, 2, 2, "NAME FILE",
            "another version takes over from a guest that serves",
            "Starts FILE beside the running version, holds new calls, waits for those that run,\n"
            "hands the containers' states over and switches: no call is lost, none is executed\n"
            "twice. Where anything fails before, the running version serves on.",
            "rapahub upgrade calc build/calc.so",
            "host, guest, version_before, version_after, check, start_ns, blackout_ns, "
            "calls_held, state_bytes, containers, methods_kept, methods_new, methods_lost",
            upgrade_options),
    COMMAND("logs", cli_logs, GUEST, 1, 1, "NAME", "lines of a guest and its host",
            "Prints what the host kept: its own lines and what the guest printed, the last 1,024.",
            "rapahub logs -f calc", "time, level, topic, event", logs_options),
    COMMAND("inspect", cli_inspect, FILE_OR_GUEST, 1, 1, "FILE|NAME", "what a module is and needs",
            "Reads the file without running anything of it. With --load it is loaded, too, in a\n"
            "guest process with a deadline, to see that it starts, and asked for its methods.",
            "rapahub inspect build/calc.so",
            "file, size_bytes, sha256, name, version, abi, state_bytes, callbacks[], "
            "methods[{signature, id}], needs[{library, versions[]}], constructors, "
            "text_relocations, executable_stack, build_id, problems[]",
            inspect_options),
    COMMAND("doctor", cli_doctor, NONE, 0, 0, "", "can this system run rapahub; what is degraded",
            "Checks kernel, libraries, shm, stale segments, levels of trust, limits and the\n"
            "runtime directory. Exit status 11 where there is a problem.",
            "rapahub doctor", "checks[{id, result, text, remedy}]", doctor_options),
    COMMAND("explain", cli_explain, CODE, 0, 1, "[CODE]", "what an error code means and what to do",
            "CODE is a name, with or without RAPAHUB_, or a number. Without it: all.",
            "rapahub explain EDIED", "codes[{code, name, text, hint, exit}]", NULL),
    COMMAND("completion", cli_completion, SHELL, 1, 1, "SHELL", "completion for bash, zsh or fish",
            "Prints a script that the shell reads at its start.",
            "source <(rapahub completion bash)", "shell, script", NULL),
    COMMAND("help", cli_help, COMMAND, 0, 2, "[COMMAND]", "how a command is used",
            "Without COMMAND: the list of commands.", "rapahub help call",
            "commands[{name, operands, summary, schema, members, options[{name, value, "
            "default, text}]}]",
            NULL),
    COMMAND("version", cli_help_version, NONE, 0, 0, "", "the version of the program",
            "Versions of the program, of the segment's format, of the chimod's interface.",
            "rapahub version", "version, segment, abi", NULL),
    NAMED("__complete", "rapahub.complete/1", cli_completion_words, NONE, 0, -1, "WORD...",
          "candidates for the last word, one a line", "Used by the completion scripts.",
          "rapahub __complete rapahub ca", "candidates[]", NULL, true),
    NAMED("__manual", "rapahub.manual/1", cli_help_manual, NONE, 1, 1, "PAGE",
          "the parts of the man pages that come from tables",
          "PAGE is the name of a command, `global`, `errors` or `tree`; scdoc source.",
          "rapahub __manual call", "text", NULL, true),
    END};
