/* SPDX-License-Identifier: Apache-2.0 */
/* error: every error code with its text and hint, and the diagnosis of the calling thread.
 *
 * Functions return 0 or more on success and less than 0 on failure: -errno, or a code of rapahub
 * from -4097 on. Programs decide by the code; the diagnosis is for people. Codes are only ever
 * appended.
 */
#ifndef RAPAHUB_ERROR_H
#define RAPAHUB_ERROR_H

#include <errno.h>

#include <rapahub/export.h>

RAPAHUB_BEGIN_DECLS

/* X(name, value, exit status of a program, text, hint: the next step) */
#define RAPAHUB_ERROR_MAP(X)                                                                      \
    /* the hub: -4097 to -4128 */                                                                 \
    X(EFORMAT, -4097, 1, "a segment or a ticket is not valid",                                    \
      "start host and guest from the same release of rapahub")                                    \
    X(EPROTOCOL, -4098, 9, "the other side broke a rule of the protocol",                         \
      "look up the rule in docs/spec, and the guest's last lines with rapahub logs NAME")         \
    X(EFULL, -4099, 13, "a table or queue of fixed size is full",                                 \
      "take something out, or raise the limit where it was made")                                 \
    X(ESTALE, -4100, 6, "it has ended meanwhile; nothing was executed",                           \
      "ask for it anew, then call again")                                                         \
    X(EDIED, -4101, 9, "the other side died before it answered; the outcome is unknown",          \
      "rapahub logs NAME shows its last lines")                                                   \
    X(EPLUGGED, -4102, 75, "the container takes no calls now: it is draining", "try again")       \
    X(ENOMETHOD, -4103, 3, "there is no such method", "rapahub inspect FILE lists the methods")   \
    X(EARGUMENTS, -4104, 2, "the arguments do not fit the method",                                \
      "rapahub inspect FILE shows the signature")                                                 \
    X(EAPPLICATION, -4105, 12, "the method returned an error of its own",                         \
      "the text is the method's; its documentation says more")                                    \
    X(EABI, -4106, 8, "a module, a record or a saved state does not fit this release",            \
      "rebuild the module with the headers of this release")                                      \
    X(ESTATE, -4107, 6, "not possible in this state or from this thread",                         \
      "the function's comment says who may call it, and when")                                    \
    X(ECLOSED, -4108, 9, "the other side said goodbye; the outcome is unknown", "start it again") \
    X(ERESET, -4109, 1, "the other side reset the stream", "ask the other side for its reason")   \
    X(EBUDGET, -4110, 75, "the other side keeps as many bytes for this one as it may",            \
      "take the answers that wait, or ask for less at once; then try again")                      \
    /* event regions: -4129 to -4160; numbers that are left out are of kinds to come */           \
    X(EEMPTY, -4129, 75, "there is no message", "try again, or wait with a time-out")             \
    X(EBLOCKED, -4130, 75, "a producer has claimed the next position and not published it",       \
      "rapahub region inspect NAME says which one: continue or kill it")                          \
    X(EWRITERBUSY, -4131, 75, "the state is being written, or written too often to be read",      \
      "try again; more buffers help where it is written very often")                              \
    X(ENOTINITIALIZED, -4132, 75, "the region is not initialised",                                \
      "rapahub region inspect NAME says whether to wait or to make it anew")                      \
    X(EROLETAKEN, -4133, 6, "another process has this role in the region",                        \
      "rapahub region inspect NAME says which one: stop it first")                                \
    X(ERETIRED, -4135, 13, "the region is used up, or another one is in its place",               \
      "open it anew, or make it anew: rapahub region recreate NAME")                              \
    X(EGAP, -4136, 1, "a stage has to pass over positions, or one that it follows did",           \
      "take up what the range of the gap concerns again, and go on")                              \
    X(EBADMAGIC, -4138, 8, "it is no event region",                                               \
      "look at the path, or make it anew: rapahub region recreate NAME")                          \
    X(EBADENDIAN, -4139, 8, "the region is of a machine with another byte order",                 \
      "make it anew here: rapahub region recreate NAME")                                          \
    X(EBADVERSION, -4140, 8, "the region is of another version",                                  \
      "make it anew, or upgrade one side")                                                        \
    X(EBADKIND, -4141, 8, "the region is of another kind",                                        \
      "make it anew with the expected kind, or look at its name")                                 \
    X(ECAPS, -4142, 8, "the region asks for what this side cannot keep, or lacks what it needs",  \
      "make it anew with the expected capabilities, or upgrade one side")                         \
    X(ETRUNCATED, -4143, 1, "the region's file is cut",                                           \
      "make it anew: rapahub region recreate NAME")                                               \
    X(ELAYOUTBYTES, -4144, 1, "the region is smaller than its own parts",                         \
      "make it anew: rapahub region recreate NAME")                                               \
    X(ECORRUPT, -4145, 1, "the region is damaged", "make it anew: rapahub region recreate NAME")  \
    X(EPEERDEAD, -4146, 9, "the only counterpart in the region is dead", "start it again")        \
    X(EENVTRUNCATED, -4147, 1, "the message ends within its envelope or payload",                 \
      "mend its sender")                                                                          \
    X(EENVMAGIC, -4148, 1, "the message has no envelope", "mend its sender, or read it as bytes") \
    X(EENVVERSION, -4149, 1, "the message's envelope is of another version",                      \
      "upgrade the reader, or mend the sender")                                                   \
    X(EENVFLAGS, -4150, 1, "the message's envelope has flags that are not known",                 \
      "upgrade the reader, or mend the sender")                                                   \
    X(EENVLENGTH, -4151, 1, "the lengths in the message's envelope are wrong", "mend its sender") \
    X(EDECODE, -4152, 1, "the message is not of the type",                                        \
      "read it as the type of its sender, or mend the sender")                                    \
    X(EENVCHECKSUM, -4153, 1, "the checksum of the message is wrong", "mend its sender")          \
    /* the host: -4161 to -4192 */                                                                \
    X(ESTOPPED, -4161, 6, "the guest was stopped on request", "start it again")                   \
    X(ERESTARTING, -4162, 75, "the guest restarts", "try again")                                  \
    X(EGIVENUP, -4163, 9, "the guest's budget of restarts is used up",                            \
      "rapahub logs NAME shows why it died; then start it again")                                 \
    X(ENORESTART, -4164, 9, "the guest has ended and is not restarted", "start it again")         \
    X(ESTART, -4165, 9, "the guest did not start", "rapahub logs NAME shows its last lines")      \
    X(ESANDBOX, -4166, 7, "the level of trust cannot be kept here",                               \
      "rapahub doctor shows what is enforced; choose another --trust")                            \
    X(ELOAD, -4167, 8, "the module cannot be loaded", "rapahub inspect FILE shows what it needs") \
    X(ECONFIG, -4168, 2, "a configuration or an option is not valid", "correct it where it says") \
    X(EDEGRADED, -4169, 75, "the guest takes no calls now: its readiness probe fails",            \
      "try again; rapahub logs NAME shows what it says")                                          \
    X(EUNSUPERVISED, -4170, 6, "the guest came by itself: its host does not start it",            \
      "stop and start it where it was started")                                                   \
    /* a host whose containers may be elsewhere: from -4300 */                                    \
    X(ENETTIMEOUT, -4300, 5, "no node answered for the container in time", "try again")           \
    X(EMAYBE, -4301, 9, "it may have run, and is not sent again",                                 \
      "look at the state before it is called again")                                              \
    X(ENOTLOCAL, -4302, 6, "it is not in this host", "call it where it is, or without a loan")    \
    X(ENOPOOL, -4303, 3, "there is no such pool", "look at its name, or its number")              \
    X(EHOPS, -4304, 75, "the call was handed on too often: its container moves", "try again")     \
    X(EDIFFERS, -4305, 6, "there is one with this name, and it is another one",                   \
      "delete it first, or choose another name")                                                  \
    X(EFENCED, -4306, 75, "the lease of the host is over: its managed containers take no calls",  \
      "try again; another host may have the container by then")                                   \
    X(ESTOREOLD, -4308, 1, "the metastore is older than what the node has seen of it",            \
      "put the newer one back, or restore a backup of it as a new generation")                    \
    X(ENOCOPY, -4311, 9, "no node that keeps a copy of the container's state can be reached",     \
      "start one of them: rapahub describe pool NAME names them")

/* System error codes that the library returns, with the same names. */
#define RAPAHUB_ERRNO_MAP(X)                                                            \
    X(EPERM, 7, "not permitted", "")                                                    \
    X(ENOENT, 3, "no such thing", "")                                                   \
    X(EINTR, 130, "interrupted", "")                                                    \
    X(EIO, 1, "input or output failed", "look at the disk, then at the system's log")   \
    X(EBADF, 1, "bad descriptor", "")                                                   \
    X(EAGAIN, 75, "not now", "try again")                                               \
    X(ENOMEM, 13, "out of memory", "free memory, or lower the host's limits")           \
    X(EACCES, 7, "permission denied", "look at the owner and mode of the file")         \
    X(EBUSY, 75, "too many calls are open", "wait for some to end, then call again")    \
    X(EEXIST, 6, "it exists already", "choose another name")                            \
    X(ENOTDIR, 3, "not a folder", "")                                                   \
    X(EINVAL, 2, "an argument is not valid", "")                                        \
    X(EMFILE, 13, "too many open files in this process",                                \
      "raise it with ulimit -n, or stop guests")                                        \
    X(ENFILE, 13, "too many open files in the system", "close programs that hold many") \
    X(ENOSPC, 13, "no space left",                                                      \
      "free some there; for segments: mount -o remount,size=1G /dev/shm")               \
    X(EFBIG, 13, "larger than a file may be",                                           \
      "raise it with ulimit -f, or lower the host's limits")                            \
    X(EROFS, 7, "the file system is read-only", "mount it writable")                    \
    X(EPIPE, 1, "nobody reads any more", "")                                            \
    X(EMSGSIZE, 13, "larger than a message may be",                                     \
      "send it in pieces, or raise the host's slot size")                               \
    X(ENOTSUP, 8, "not supported", "")                                                  \
    X(ETIMEDOUT, 5, "no answer in time", "allow more time with --deadline")             \
    X(ECANCELED, 130, "cancelled", "")                                                  \
    X(EOVERFLOW, 1, "a number does not fit", "")

enum rapahub_error {
#define RAPAHUB_ERROR_VALUE(name, value, exit, text, hint) RAPAHUB_##name = (value),
    RAPAHUB_ERROR_MAP(RAPAHUB_ERROR_VALUE)
#undef RAPAHUB_ERROR_VALUE
#define RAPAHUB_ERRNO_VALUE(name, exit, text, hint) RAPAHUB_##name = -(name),
        RAPAHUB_ERRNO_MAP(RAPAHUB_ERRNO_VALUE)
#undef RAPAHUB_ERRNO_VALUE
            RAPAHUB_OK = 0
};

/* The last failure of the calling thread. It holds until that thread's next failure. */
struct rapahub_diagnosis {
    int code;
    const char *rule; /* id of the violated rule of docs/spec, or "" */
    const char *text; /* one line for a person */
    int application;  /* the method's own error number, if code is RAPAHUB_EAPPLICATION */
};

/* Writes the calling thread's diagnosis and returns `code`, so that a refusal is one line: `return
 * rapahub_fail(RAPAHUB_EINVAL, "", "amount %d is negative", amount);`. `rule` must be a constant.
 * The text is cut at 1,023 bytes, and its control characters become '?'. errno is kept. Any thread.
 */
RAPAHUB_API int rapahub_fail(int code, const char *rule, const char *format, ...)
    RAPAHUB_PRINTF(3, 4);

/* Does the same for an error that a method returned: the code is RAPAHUB_EAPPLICATION, and
 * .application is `application`. Any thread. */
RAPAHUB_API int rapahub_fail_application(int application, const char *text);

/* Returns the calling thread's diagnosis, never NULL. Any thread. */
RAPAHUB_API const struct rapahub_diagnosis *rapahub_last_error(void);

/* Forgets the calling thread's diagnosis, if the failure turned out not to matter. Any thread. */
RAPAHUB_API void rapahub_clear_error(void);

/* Return a code's name ("RAPAHUB_EFULL"), its text, its hint ("" if it has none) and the exit
 * status that programs use for it. An unknown code has the name "RAPAHUB_UNKNOWN" and the status 1.
 * Never NULL. Any thread. */
RAPAHUB_API const char *rapahub_error_name(int code);
RAPAHUB_API const char *rapahub_error_text(int code);
RAPAHUB_API const char *rapahub_error_hint(int code);
RAPAHUB_API int rapahub_error_exit(int code);

/* rapahub_error_of_name returns the code of a name, given with or without "RAPAHUB_", or 0 if there
 * is none. rapahub_error_at lists all codes: it returns the one at `index`, and 0 after the last.
 * Any thread. */
RAPAHUB_API int rapahub_error_of_name(const char *name);
RAPAHUB_API int rapahub_error_at(unsigned index);

RAPAHUB_END_DECLS

#endif
