/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/cluster_commands.h"

#include <stddef.h>

#include "cluster/cli/metastore/metastore_commands.h"
#include "host/cli/call_options.h"

#define NODE_OPTION                                                                       \
    VALUE(TEXT, "node", "ADDRESS",                                                        \
          "unix:PATH of its socket, or HOST:PORT; several with commas (default: the one " \
          "of this user, or of this machine)",                                            \
          .variable = "RAPAHUB_NODE"),                                                    \
        VALUE(FOLDER, "tls", "DIR",                                                       \
              "the folder with ca.pem, client.pem and client.key, for HOST:PORT "         \
              "(default: ~/.config/rapahub/tls)",                                         \
              .variable = "RAPAHUB_CLIENT_TLS")
#define NO_WAIT_OPTION FLAG("no-wait", "end as soon as the node has taken the order")

static const struct cli_option node_options[] = {NODE_OPTION, END};

static const struct cli_option change_options[] = {NO_WAIT_OPTION, NODE_OPTION, END};

static const struct cli_option dead_options[] = {
    FLAG("yes", "it is certain that nothing of the node runs; required"),
    FLAG("discard", "begin its containers also without what only its disk has"), NODE_OPTION, END};

static const struct cli_option leave_options[] = {
    FLAG("discard", "begin its containers elsewhere also without what only its disk has"),
    NODE_OPTION, END};

static const struct cli_option apply_options[] = {
    VALUE(FOLDER, "file", "FILE", "the pools; required", .letter = 'f'),
    FLAG("check", "only look whether the file is right; no node is asked"),
    NO_WAIT_OPTION,
    FLAG("once", "the same, and name the file FILE.done when the node has its pools"),
    NODE_OPTION,
    END};

static const struct cli_option call_options[] = {CLI_CALL_OPTIONS, NODE_OPTION, END};

static const struct cli_option fsck_options[] = {
    VALUE(FOLDER, "data", "DIR", "the folder of the node (default: that of rapahubd)"), END};

static const struct cli_option restore_options[] = {
    VALUE(FOLDER, "data", "DIR", "the folder of the node (default: that of rapahubd)"),
    VALUE(COUNT, "generation", "N", "the generation is this one at least", .fallback = "0"), END};

static const struct cli_option certificate_options[] = {
    VALUE(TEXT, "name", "NAME", "whose it is: letters, digits, '_', '-' and '.'; required"),
    VALUE(CHOICE, "role", "ROLE", "what the client may ask for", .choices = "viewer|operator|admin",
          .fallback = "viewer"),
    VALUE(FOLDER, "out", "FOLDER", "where the files are written; required"), NODE_OPTION, END};

static const struct cli_option token_options[] = {
    VALUE(SPAN, "ttl", "DUR", "how long it is good", .fallback = "1h"),
    VALUE(COUNT, "uses", "N", "for how many nodes", .fallback = "1"), NODE_OPTION, END};

static const struct cli_option init_options[] = {
    VALUE(TEXT, "metastore", "URL",
          "etcd://HOST:PORT,.../PREFIX, or etcds:// by TLS (default: in DIR)"),
    VALUE(FOLDER, "metastore-tls", "TLS",
          "the folder with ca.pem, client.pem and client.key for etcds:// (default: DIR/etcd)"),
    END};

static const struct cli_option join_options[] = {
    VALUE(TEXT, "token", "TOKEN", "that rapahub token create has printed; required"),
    VALUE(TEXT, "ca-hash", "HEX", "SHA-256 of the authority's certificate; required"),
    VALUE(FOLDER, "data", "DIR", "the folder of the new node, empty or missing; required"),
    VALUE(TEXT, "name", "NAME", "of the node, for people (default: node and its number)"),
    VALUE(
        TEXT, "metastore", "URL",
        "etcd://HOST:PORT,.../PREFIX or etcds://..., where that of the cluster is in etcd and has "
        "other addresses here (default: as the node at HOST:PORT says)"),
    END};

#define CHANGE_MEMBERS "operation, done"
#define POOL_MEMBERS                                                              \
    "name, id, state, durability, containers, serving, module, version, guests, " \
    "copies, min_copies, short"

const struct cli_command cluster_commands[] = {
    {.name = "call",
     .operands = "TARGET [ARG...]",
     .summary = "call a method once",
     .text = "TARGET is POOL.METHOD of a pool of this machine's node with one container,\n"
             "POOL#2.METHOD of its container 2, or POOL@local, @physical:NODE, @hash:KEY,\n"
             "@range:2+3 (2, 3 and 4), @broadcast, @dynamic or @dynamic:KEY (where a\n"
             "container says) before .METHOD. Where the node has no pool of that name,\n"
             "NAME.METHOD is of a running guest (NAME#2.METHOD: its container 2);\n"
             "HOST/NAME.METHOD is always a guest's. FILE:METHOD: a host runs for this one\n"
             "call. METHOD is a name or a whole signature. Arguments are numbers, true,\n"
             "false, text, bytes as text or hex:00ff, records as {x: 1.5, y: 2} or {\"x\":\n"
             "1.5}; @FILE and - give the content of a file or of standard input to a string\n"
             "or bytes. Ctrl-C cancels; a second one ends at once. What begins with a dash\n"
             "and is no number follows behind --.",
     .example = "rapahub call tally@hash:apples.add 5\n"
                "rapahub call calc.add 40 2\n"
                "rapahub call build/calc.so:add 40 2",
     .schema = "rapahub.call/1",
     .members = "ok, result, method, duration_ns; of a guest guest{name, peer, epoch, pid}; of a "
                "pool pool, and for several containers results[{container, ok, result, code, name, "
                "message}]",
     .options = call_options,
     .operand = CLI_OPERAND_TARGET,
     .operands_min = 1,
     .operands_max = -1,
     .run = cluster_pool_call},
    {.name = "apply",
     .operands = "-f FILE",
     .summary = "make the pools of a file on the node",
     .text = "Reads a file with pools, as rapahub-pool(5) says, pushes the modules that it\n"
             "has as paths, and waits until all pools serve. The whole file is checked before\n"
             "that: a key that is unknown or a value that is wrong is told with line and\n"
             "column. Where a pool is as the file says, nothing is done; where one of its\n"
             "name is another one, it is refused with the keys that differ.",
     .example = "rapahub apply --check -f pool.yaml\n"
                "rapahub apply -f pool.yaml",
     .schema = "rapahub.apply/1",
     .members = "pools[{name, module, version, containers, guests, durability, copies, trust}]",
     .options = apply_options,
     .run = cluster_apply},
    {.name = "delete",
     .operands = "POOL",
     .summary = "end a pool of the node, and remove all that it has kept",
     .text = "Its containers end, and their states, copies and folders are removed.",
     .example = "rapahub delete tally",
     .schema = "rapahub.delete/1",
     .members = CHANGE_MEMBERS,
     .options = change_options,
     .operand = CLI_OPERAND_FREE,
     .operands_min = 1,
     .operands_max = 1,
     .run = cluster_change_delete},
    {.name = "release",
     .operands = "POOL#N",
     .summary = "let a container begin again that failed too often",
     .text = "A container that could not begin three times in a row is in quarantine: its\n"
             "calls are refused until it is released.",
     .example = "rapahub release tally#2",
     .schema = "rapahub.release/1",
     .members = CHANGE_MEMBERS,
     .options = change_options,
     .operand = CLI_OPERAND_FREE,
     .operands_min = 1,
     .operands_max = 1,
     .run = cluster_change_release},
    {.name = "get nodes",
     .operands = "",
     .summary = "the nodes of the cluster",
     .text = "Lists them with their states, where they listen, and their sessions: the number of\n"
             "the session, and of its boot. A node without a session has ended in order. The\n"
             "link is the one from the node that is asked: UP, DOWN, or SELF. A node that is\n"
             "FENCED is dead, and its containers begin elsewhere. The remedy of an alarm\n"
             "says what to type.",
     .example = "rapahub get nodes",
     .schema = "rapahub.node.nodes/1",
     .members =
         "nodes[{number, name, state, role, alarm, address, session, boot, link, verdict, since, "
         "incarnation, remedy}]",
     .options = node_options,
     .run = cluster_get_nodes},
    {.name = "get pools",
     .operands = "",
     .summary = "the pools of the node",
     .text = "Lists them with their states, and how many of their containers serve here.",
     .example = "rapahub get pools",
     .schema = "rapahub.node.pools/1",
     .members = "pools[{" POOL_MEMBERS "}]",
     .options = node_options,
     .run = cluster_get_pools},
    {.name = "get operations",
     .operands = "",
     .summary = "what the node is doing, or has done, for orders",
     .text = "Lists operations with their states and results, also those that have ended, for\n"
             "as long as the node knows them.",
     .example = "rapahub get operations",
     .schema = "rapahub.node.operations/1",
     .members = "operations[{number, kind, state, pool, id, container, result, cause}]",
     .options = node_options,
     .run = cluster_get_operations},
    {.name = "describe pool",
     .operands = "POOL",
     .summary = "a pool of the node and its containers",
     .text = "Prints what the node knows of a pool, then a line for each of its containers:\n"
             "its state, its owner, its life, which nodes keep copies of it, and why it\n"
             "failed if it did.",
     .example = "rapahub describe pool tally",
     .schema = "rapahub.node.pool/1",
     .members = POOL_MEMBERS ", of[{container, state, owner, epoch, lineage, here, token, holders, "
                             "joining, copy, kept, waits_for, failures, status, cause}]",
     .options = node_options,
     .operand = CLI_OPERAND_FREE,
     .operands_min = 1,
     .operands_max = 1,
     .run = cluster_get_pool},
    {.name = "module push",
     .operands = "FILE",
     .summary = "give the node a module",
     .text = "Sends the file, under the name and the version that the module gives itself. A\n"
             "node that has other bytes of that name and version refuses it. Each node of a\n"
             "cluster that is to have its containers needs it: the one that leads first.",
     .example = "rapahub module push build/calc.so",
     .schema = "rapahub.module-push/1",
     .members = "name, version, sha256",
     .options = node_options,
     .operand = CLI_OPERAND_FILE,
     .operands_min = 1,
     .operands_max = 1,
     .run = cluster_push},
    {.name = "module ls",
     .operands = "",
     .summary = "the modules that the node has",
     .text = "Lists them with their SHA-256 and, in JSON, their methods.",
     .example = "rapahub module ls",
     .schema = "rapahub.node.modules/1",
     .members = "modules[{name, version, machine, sha256, size, methods[{signature}]}]",
     .options = node_options,
     .run = cluster_get_modules},
    {.name = "module rm",
     .operands = "NAME:VERSION",
     .summary = "remove a module from the node",
     .text = "One that a pool has is kept, and the command refused.",
     .example = "rapahub module rm calc:0.1.0",
     .schema = "rapahub.module-rm/1",
     .members = "name, version",
     .options = node_options,
     .operand = CLI_OPERAND_FREE,
     .operands_min = 1,
     .operands_max = 1,
     .run = cluster_change_unpush},
    {.name = "node status",
     .operands = "",
     .summary = "what the node is and does",
     .text = "Prints its number, its session, how many pools, containers and calls it has, and\n"
             "its certificate where it has one.",
     .example = "rapahub node status",
     .schema = "rapahub.node.status/1",
     .members =
         "number, name, state, session, boot, leader, term, metastore, revision, compacted, pools, "
         "containers, "
         "serving, calls; where it has a certificate identity, certificate, "
         "certificate_expires, ca_hash, "
         "authority, or identity_fault",
     .options = node_options,
     .run = cluster_get_status},
    {.name = "node ps",
     .operands = "",
     .summary = "the containers that the node has",
     .text = "Lists the containers of all pools.",
     .example = "rapahub node ps",
     .schema = "rapahub.node-ps/1",
     .members = "containers[{pool, container, state, here, token, failures, cause}]",
     .options = node_options,
     .run = cluster_node_ps},
    {.name = "node init",
     .operands = "DIR",
     .summary = "make the first node of a cluster",
     .text =
         "Gives the node in the folder DIR, which may be empty, the authority of a new cluster\n"
         "and a certificate of its own. The node must not run. Prints the hash of the\n"
         "authority's certificate, by which others know the cluster.",
     .example = "rapahub node init ~/pools\n"
                "rapahubd --data ~/pools",
     .schema = "rapahub.node-init/1",
     .members = "cluster, node, ca_hash",
     .options = init_options,
     .operand = CLI_OPERAND_FOLDER,
     .operands_min = 1,
     .operands_max = 1,
     .run = cluster_identity_init},
    {.name = "node join",
     .operands = "HOST:PORT",
     .summary = "make a node of a cluster that is there",
     .text =
         "Makes a key in the folder DIR, and has the node at HOST:PORT, which is to be the one\n"
         "with the authority of the cluster, give it a number and a certificate. That node\n"
         "is trusted if the hash of its authority is the one that was given. Where the\n"
         "metastore of the cluster is in etcd the new node reaches that by itself; by TLS\n"
         "its certificate for it is in DIR/etcd: ca.pem, client.pem and client.key. After an\n"
         "interruption it is typed again, with a new token.",
     .example = "rapahub node join 192.0.2.7:9413 --token rh1.7057ca71252006da.3db8... \\\n"
                "  --ca-hash 90851d87... --data ~/pools",
     .schema = "rapahub.node-join/1",
     .members = "cluster, node, metastore",
     .options = join_options,
     .operand = CLI_OPERAND_FREE,
     .operands_min = 1,
     .operands_max = 1,
     .run = cluster_identity_join},
    {.name = "node dead",
     .operands = "NODE",
     .summary = "say that a node is dead",
     .text = "Give the number of a node that is silent and whose machine is off, or was started\n"
             "anew. Its session ends, and its containers begin on other nodes. Those that have\n"
             "kept something on its disk alone wait for it; with --discard they begin without\n"
             "that. It is refused while the node answers. A node that comes back later begins\n"
             "anew, and has what is still its own.",
     .example = "rapahub node dead 3 --yes",
     .schema = "rapahub.node-dead/1",
     .members = "node, discard",
     .options = dead_options,
     .operand = CLI_OPERAND_FREE,
     .operands_min = 1,
     .operands_max = 1,
     .run = cluster_change_dead},
    {.name = "node leave",
     .operands = "NODE",
     .summary = "take a node out of the cluster",
     .text =
         "Give the number of a node. It gets no more containers; its daemon holds calls, makes\n"
         "last copies, and ends; then its containers begin on other nodes, and its state is\n"
         "LEFT. The command waits for that. It is refused, and nothing is done, where only the\n"
         "disk of that node has what a container keeps; with --discard the container begins\n"
         "elsewhere without that. Its folder cannot be used again: a machine that is to be a\n"
         "node again joins with an empty one.",
     .example = "rapahub node leave 3",
     .schema = "rapahub.node-leave/1",
     .members = "node, discard",
     .options = leave_options,
     .operand = CLI_OPERAND_FREE,
     .operands_min = 1,
     .operands_max = 1,
     .run = cluster_change_leave},
    {.name = "node certificate",
     .operands = "--name NAME --out FOLDER",
     .summary = "make a certificate of a client",
     .text = "Makes a key, has the authority of the node sign a certificate for it, and writes\n"
             "ca.pem, client.pem and client.key into FOLDER. The key never leaves this\n"
             "machine. A certificate is good for 90 days.",
     .example = "rapahub node certificate --name ana --role operator --out ~/ana",
     .schema = "rapahub.node-certificate/1",
     .members = "name, serial, expires, folder",
     .options = certificate_options,
     .run = cluster_identity_certificate},
    {.name = "node revoke",
     .operands = "SERIAL",
     .summary = "make a certificate good for nothing",
     .text = "SERIAL is its serial number, as rapahub node certificate has printed it.",
     .example = "rapahub node revoke 4a90c2f1d3e85b7766a1b2c3d4e5f607",
     .schema = "rapahub.node-revoke/1",
     .members = "serial",
     .options = node_options,
     .operand = CLI_OPERAND_FREE,
     .operands_min = 1,
     .operands_max = 1,
     .run = cluster_identity_revoke},
    {.name = "node revoked",
     .operands = "",
     .summary = "the certificates that are revoked",
     .text = "Lists their serial numbers, until they would have expired anyway.",
     .example = "rapahub node revoked",
     .schema = "rapahub.node.revoked/1",
     .members = "revoked[{serial, revoked, kept_until}]",
     .options = node_options,
     .run = cluster_get_revoked},
    {.name = "token create",
     .operands = "",
     .summary = "make a word by which a node may join the cluster",
     .text = "Prints the token, which is shown only this once. It is good for as many nodes\n"
             "as --uses says, and for nothing after --ttl, or after five wrong guesses.",
     .example = "rapahub token create\n"
                "rapahub token create --ttl 24h --uses 3",
     .schema = "rapahub.token-create/1",
     .members = "token",
     .options = token_options,
     .run = cluster_identity_token},
    {.name = "token ls",
     .operands = "",
     .summary = "the tokens by which nodes may join",
     .text = "Lists them without their secrets: how often each can be used, and how many wrong\n"
             "guesses it stands.",
     .example = "rapahub token ls",
     .schema = "rapahub.node.tokens/1",
     .members = "tokens[{id, expires, uses, tries}]",
     .options = node_options,
     .run = cluster_get_tokens},
    {.name = "token revoke",
     .operands = "ID",
     .summary = "make a token good for nothing",
     .text = "ID is the part of a token between its dots.",
     .example = "rapahub token revoke 0123456789abcdef",
     .schema = "rapahub.token-revoke/1",
     .members = "id",
     .options = node_options,
     .operand = CLI_OPERAND_FREE,
     .operands_min = 1,
     .operands_max = 1,
     .run = cluster_identity_token_revoke},
    {.name = "metastore backup",
     .operands = "[NAME]",
     .summary = "make a backup of the metastore of a cluster",
     .text = "The node that has the metastore writes it into a new file of its data folder,\n"
             "backups/NAME, while it serves. Without NAME the name is the time. Copy the file to\n"
             "another machine.",
     .example = "rapahub metastore backup\n"
                "rapahub metastore backup before-the-move",
     .schema = "rapahub.metastore-backup/1",
     .members = "path, generation, revision",
     .options = node_options,
     .operand = CLI_OPERAND_FREE,
     .operands_max = 1,
     .run = cluster_metastore_backup_run},
    {.name = "metastore restore",
     .operands = "FILE",
     .summary = "put a backup in the place of the metastore of a node that does not run",
     .text = "What has changed since the backup is lost: pools that were made are to be applied\n"
             "again, nodes that joined join again. States of containers are not in the metastore,\n"
             "and stay. Other nodes follow by themselves, for the generation of the metastore is\n"
             "higher from then on. The metastore that was there is kept, under another name.",
     .example = "rapahub metastore restore ~/safe/20261128T010203Z.db --data ~/pools",
     .schema = "rapahub.metastore-restore/1",
     .members = "data, generation, replaced",
     .options = restore_options,
     .operand = CLI_OPERAND_FILE,
     .operands_min = 1,
     .operands_max = 1,
     .run = cluster_metastore_restore_run},
    {.name = "fsck",
     .operands = "",
     .summary = "look for damage in the folder of a node that does not run",
     .text = "Looks at the identity of the node, its guests, its log, its metastore, its copies\n"
             "and its modules, and prints a line for each: `ok`; `mended` where the next start\n"
             "mends it, and nothing is lost; `wrong` where something is lost or must be mended\n"
             "by hand; `stray` for a file that is not a node's. Nothing is changed. The exit\n"
             "status is 0 without a finding, and 1 with some. Where a node has the folder, its\n"
             "process is named, and the status is 75.",
     .example = "rapahub fsck\n"
                "rapahub fsck --data ~/pools --json",
     .schema = "rapahub.fsck/1",
     .members = "findings[{result, path, text}]",
     .options = fsck_options,
     .run = cluster_fsck},
    END};
