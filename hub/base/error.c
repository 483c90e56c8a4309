/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/version.h>

#include "hub/base/printable.h"

#define TEXT_MAX 1024

struct entry {
    int code;
    const char *name, *text, *hint;
    int exit;
};

static const struct entry entries[] = {
#define ENTRY(name, value, exit, text, hint) {value, "RAPAHUB_" #name, text, hint, exit},
    RAPAHUB_ERROR_MAP(ENTRY)
#undef ENTRY
#define ENTRY(name, exit, text, hint) {-(name), "RAPAHUB_" #name, text, hint, exit},
        RAPAHUB_ERRNO_MAP(ENTRY)
#undef ENTRY
};

#define ENTRIES (sizeof entries / sizeof *entries)

static _Thread_local char text_of_thread[TEXT_MAX];
static const char none[] = "";
static _Thread_local struct rapahub_diagnosis diagnosis = {.rule = none, .text = none};

static const struct entry *find(int code)
{
    for (size_t i = 0; i < ENTRIES; i++)
        if (entries[i].code == code)
            return &entries[i];
    return NULL;
}

static int note(int code, const char *rule, int application)
{
    hub_printable_mend(text_of_thread);
    diagnosis = (struct rapahub_diagnosis){code, rule, text_of_thread, application};
    return code;
}

/* The text is first written to a copy: an argument may be the text of the last failure. */
int rapahub_fail(int code, const char *rule, const char *format, ...)
{
    char text[TEXT_MAX];
    int kept = errno;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(text_of_thread, text, sizeof text);
    errno = kept;
    return note(code, rule, 0);
}

int rapahub_fail_application(int application, const char *text)
{
    char copy[TEXT_MAX];
    int kept = errno;

    snprintf(copy, sizeof copy, "%s", text);
    memcpy(text_of_thread, copy, sizeof copy);
    errno = kept;
    return note(RAPAHUB_EAPPLICATION, "", application);
}

const struct rapahub_diagnosis *rapahub_last_error(void)
{
    return &diagnosis;
}

void rapahub_clear_error(void)
{
    if (diagnosis.text != none)
        diagnosis = (struct rapahub_diagnosis){.rule = none, .text = none};
}

const char *rapahub_error_name(int code)
{
    const struct entry *entry = find(code);

    return entry ? entry->name : "RAPAHUB_UNKNOWN";
}

const char *rapahub_error_text(int code)
{
    const struct entry *entry = find(code);
    const char *text = entry ? entry->text : NULL;

    if (!text && code < 0 && code > -4096)
        text = strerrordesc_np(-code);
    return text ? text : "unknown error";
}

const char *rapahub_error_hint(int code)
{
    const struct entry *entry = find(code);

    return entry ? entry->hint : "";
}

int rapahub_error_exit(int code)
{
    const struct entry *entry = find(code);

    return entry ? entry->exit : 1;
}

int rapahub_error_of_name(const char *name)
{
    for (size_t i = 0; i < ENTRIES; i++)
        if (strcmp(name, entries[i].name) == 0 ||
            strcmp(name, entries[i].name + strlen("RAPAHUB_")) == 0)
            return entries[i].code;
    return 0;
}

int rapahub_error_at(unsigned index)
{
    return index < ENTRIES ? entries[index].code : 0;
}

const char *rapahub_version(void)
{
    return RAPAHUB_VERSION;
}
