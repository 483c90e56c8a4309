/* SPDX-License-Identifier: Apache-2.0 */
/* main: the program rapahubd. It reads the settings and becomes the warden, which starts the
 * daemon; both are this program again. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>
#include <rapahub/version.h>

#include "cluster/daemon/defaults.h"
#include "cluster/daemon/notify.h"
#include "cluster/daemon/options.h"
#include "cluster/daemon/process.h"
#include "cluster/daemon/serve.h"
#include "cluster/daemon/warden.h"

#define STATUS_FAILED 1

/* ---- errors ---- */

static void print_quote(const char *quote)
{
    while (*quote) {
        int size = (int)strcspn(quote, "\n");

        fprintf(stderr, "    %.*s\n", size, quote);
        quote += size + (quote[size] == '\n');
    }
}

/* That of -EBUSY is about calls, and here the text itself says what to do. */
static void print_hint(int code, const char *quote)
{
    const char *hint = code == RAPAHUB_EBUSY ? "" : rapahub_error_hint(code);

    if (code == RAPAHUB_ECONFIG)
        hint = quote[0] ? "man rapahub.yaml" : "rapahubd --help";
    if (hint[0])
        fprintf(stderr, "hint: %s\n", hint);
}

/* Each end that is a failure has a status of its own, and never 0. */
static int report(int code, const char *quote)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();
    bool told = last->code == code && last->text[0];
    int status = rapahub_error_exit(code);

    fprintf(stderr, "error: %s\n", told ? last->text : rapahub_error_text(code));
    print_quote(quote);
    fprintf(stderr, "  code %s\n", rapahub_error_name(code));
    print_hint(code, quote);
    return status > 0 ? status : STATUS_FAILED;
}

/* ---- the program, as people start it ---- */

static int print_check(const struct daemon_options *options, const char *config)
{
    const struct daemon_settings *settings = &options->settings;

    if (config[0])
        printf("config: %s\n", config);
    for (unsigned i = 0; i < DAEMON_SETTINGS_KEYS; i++)
        if (settings->given[i])
            printf("%s: %s\n", daemon_settings_keys[i].path, settings->given[i]);
    return 0;
}

static int become_warden(const struct daemon_options *options)
{
    char **arguments;
    int r = daemon_options_arguments(options, DAEMON_OPTIONS_WARDEN, NULL, &arguments);

    if (r < 0)
        return r;
    daemon_process_clean();
    r = daemon_process_become(arguments);
    daemon_options_drop(arguments);
    return r;
}

static int run_program(struct daemon_options *options)
{
    const struct daemon_folders_user user = daemon_defaults_user();
    char config[DAEMON_CONFIG_PATH], quote[DAEMON_CONFIG_QUOTE] = "";
    bool has_data;
    int r = daemon_defaults_config(options->config, &options->settings, config, quote);

    has_data = options->settings.data != NULL;
    if (r == 0)
        r = daemon_defaults_folders(&user, &options->settings);
    if (r == 0)
        r = daemon_folders_check_run(options->settings.run, options->settings.name);
    if (r == 0)
        r = daemon_settings_check(&options->settings);
    if (r == 0 && options->check)
        return print_check(options, config);
    if (r == 0 && !has_data)
        daemon_folders_make_state(&user);
    if (r == 0)
        r = become_warden(options);
    return report(r, quote);
}

/* ---- the other processes ---- */

/* The daemon and its guests are not to speak to the service manager. */
static int run_warden(const struct daemon_options *options)
{
    const struct daemon_notify_given given = {.socket = getenv("NOTIFY_SOCKET"),
                                              .watchdog_usec = getenv("WATCHDOG_USEC"),
                                              .watchdog_pid = getenv("WATCHDOG_PID")};
    int r;

    (void)unsetenv("NOTIFY_SOCKET"); /* the texts stay */
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
    daemon_process_name("rapahub-warden");
    rapahub_log_to(NULL, NULL, options->settings.level);
    r = daemon_warden_run(options, &given);
    return r < 0 ? report(r, "") : r;
}

static int run_daemon(const struct daemon_options *options)
{
    int r;

    daemon_process_name("rapahubd");
    r = daemon_serve_run(options);
    return r < 0 ? report(r, "") : 0;
}

static int run(struct daemon_options *options)
{
    if (options->role == DAEMON_OPTIONS_WARDEN)
        return run_warden(options);
    if (options->role == DAEMON_OPTIONS_DAEMON)
        return run_daemon(options);
    if (options->help) {
        daemon_options_help(stdout);
        return 0;
    }
    if (options->version) {
        printf("rapahubd %s\n", rapahub_version());
        return 0;
    }
    return run_program(options);
}

int main(int argc, char **argv)
{
    struct daemon_options options;
    int r;

    /* A reader of the log that goes is an error of a write. */
    (void)signal(SIGPIPE, SIG_IGN);
    r = daemon_options_parse(argc, argv, &options);
    r = r < 0 ? report(r, "") : run(&options);
    daemon_options_fini(&options);
    if (fflush(stdout) != 0 && r == 0)
        r = STATUS_FAILED;
    return r;
}
