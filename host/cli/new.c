/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/program.h"
#include "host/cli/commands.h"
#include "host/cli/text/json.h"
#include "host/cli/text/texts.h"
#include "hub/base/own.h"
#include "hub/wire/signature.h"

#define MARK      "@NAME@"
#define SUFFIX    ".in" /* suffix of the files of templates */
#define PATH_SIZE 4096
#define FILE_MAX  65536
#define DEPTH_MAX 4

struct making {
    struct cli *cli;
    const char *name, *folder;
    struct cli_texts files, abouts; /* paths in the new folder, and what each is */
};

/* Copies a text with each MARK replaced; cut at `size`. */
static void fill_in(const char *text, const char *name, char *to, size_t size)
{
    size_t at = 0;

    for (const char *mark; at < size && (mark = strstr(text, MARK)); text = mark + strlen(MARK))
        at += (size_t)snprintf(to + at, size - at, "%.*s%s", (int)(mark - text), text, name);
    if (at < size)
        snprintf(to + at, size - at, "%s", text);
}

static void drop_suffix(char *name)
{
    size_t size = strlen(name);

    if (size > strlen(SUFFIX) && strcmp(name + size - strlen(SUFFIX), SUFFIX) == 0)
        name[size - strlen(SUFFIX)] = '\0';
}

static int read_text(const char *path, char *to, size_t size)
{
    OWN(hub_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, to, size - 1);

    if (n < 0)
        return rapahub_fail(-errno, "", "cannot read the template '%s'", path);
    to[n] = '\0';
    return 0;
}

static int write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wxe");

    if (!file)
        return rapahub_fail(-errno, "", "cannot make '%s'", path);
    fputs(text, file);
    if (fclose(file) != 0)
        return rapahub_fail(-errno, "", "cannot write '%s'", path);
    return 0;
}

/* The first line that is not the licence's says what a file is: "calc: adds and divides". */
static void add_about(struct cli_texts *abouts, const char *text)
{
    size_t size;

    do {
        text += strspn(text, "/*# \n");
        size = strcspn(text, "\n");
        if (!memmem(text, size, "SPDX", 4))
            break;
        text += size;
    } while (*text);
    while (size > 0 && strchr("*/ .", text[size - 1]))
        size--;
    cli_texts_print(abouts, "%.*s", (int)size, text);
}

static int copy_file(struct making *making, const char *from, const char *to)
{
    OWN(hub_memory) char *text = malloc(FILE_MAX), *filled = malloc(2 * FILE_MAX);
    int r;

    if (!text || !filled)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the template");
    r = read_text(from, text, FILE_MAX);
    if (r < 0)
        return r;
    fill_in(text, making->name, filled, 2 * FILE_MAX);
    r = write_text(to, filled);
    if (r < 0)
        return r;
    cli_texts_add(&making->files, to + strlen(making->folder) + 1);
    add_about(&making->abouts, filled);
    if (making->files.failed || making->abouts.failed)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the template");
    return 0;
}

static int copy_folder(struct making *making, const char *from, const char *to, unsigned depth);

static int copy_entry(struct making *making, const char *from, const char *to, unsigned depth)
{
    struct stat status;

    if (stat(from, &status) < 0)
        return rapahub_fail(-errno, "", "cannot look at the template '%s'", from);
    if (!S_ISDIR(status.st_mode))
        return copy_file(making, from, to);
    return depth < DEPTH_MAX ? copy_folder(making, from, to, depth + 1) : 0;
}

static int copy_folder(struct making *making, const char *from, const char *to, unsigned depth)
{
    struct dirent **entries = NULL;
    int count, r = 0;

    if (mkdir(to, 0777) < 0)
        return rapahub_fail(-errno, "", errno == EEXIST ? "'%s' exists" : "cannot make '%s'", to);
    count = scandir(from, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char source[PATH_SIZE], target[PATH_SIZE], filled[512];

        fill_in(name, making->name, filled, sizeof filled);
        drop_suffix(filled);
        snprintf(source, sizeof source, "%s/%s", from, name);
        snprintf(target, sizeof target, "%s/%s", to, filled);
        if (r == 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            r = copy_entry(making, source, target, depth);
        free(entries[i]);
    }
    free(entries);
    return r;
}

static int report(const struct making *making, const char *template)
{
    const struct cli_texts *files = &making->files;
    struct cli_json json;
    size_t widest = 0;

    if (cli_json_wanted(making->cli)) {
        cli_json_begin(&json, stdout, making->cli->command->schema);
        cli_json_put(&json, MEMBER("name", making->name), MEMBER("folder", making->folder),
                     MEMBER("template", template), BRACKET(CLI_JSON_LIST, "files"));
        for (unsigned i = 0; i < files->count; i++)
            cli_json_put(&json, MEMBER(NULL, files->texts[i]));
        return cli_json_end(&json);
    }
    cli_failure_note(making->cli, "created %s/  (template %s)", making->folder, template);
    for (unsigned i = 0; i < files->count; i++)
        widest = strlen(files->texts[i]) > widest ? strlen(files->texts[i]) : widest;
    for (unsigned i = 0; i < files->count; i++) {
        if (files->texts[i][0] != '.')
            cli_failure_note(making->cli, "  %-*s  %s", (int)widest, files->texts[i],
                             making->abouts.texts[i]);
    }
    cli_failure_note(making->cli, "next: cd %s && rapahub build", making->folder);
    return 0;
}

int cli_new(struct cli *cli)
{
    const char *template = cli_arguments_text(&cli->arguments, "template");
    const char *folder = cli_arguments_text(&cli->arguments, "dir");
    struct making making = {.cli = cli, .name = cli->arguments.operands[0]};
    char source[CLI_PROGRAM_PATH], relative[128];
    int r;

    making.folder = folder ? folder : making.name;
    cli_failure_about(cli, "new %s", making.name);
    if (!hub_signature_is_name(making.name)) {
        cli_failure_hint(cli, "letters, digits and _, not a digit first: rapahub new calc");
        return rapahub_fail(RAPAHUB_ECONFIG, "", "this cannot be a chimod's name");
    }
    snprintf(relative, sizeof relative, "%s/%s", RAPAHUB_TEMPLATES_FROM_BIN, template);
    r = cli_program_path(relative, source);
    if (r == 0)
        r = copy_folder(&making, source, making.folder, 0);
    if (r == RAPAHUB_EEXIST)
        cli_failure_hint(cli, "choose another name, or --dir DIR");
    if (r == 0)
        r = report(&making, template);
    cli_texts_fini(&making.files);
    cli_texts_fini(&making.abouts);
    return r;
}
