/* control_messages.h - declares the messages between a coordinator and its
 * members, and sends and reads them.
 *
 * Each message is one JSON object of at most SKN_CONTROL_BYTES_MAX, on the
 * connections of transport/socket/control.h. Its field `type` names it; its
 * other fields are declared here, once: structs, checks and the table in
 * docs/reference/elastic-protocol.md follow from these lists. The sender is
 * identified by its key, never by the content.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_CLUSTER_CONTROL_MESSAGES_H
#define TOPOLOGY_CLUSTER_CONTROL_MESSAGES_H

#include "formats/text/json_record.h"
#include "topology/elastic/membership.h"
#include "topology/model/model.h"
#include "transport/socket/control.h"

/* The version is raised when a message changes its meaning. A coordinator
 * accepts members of the least version up to the next one. */
#define SKN_CONTROL_VERSION 3
#define SKN_CONTROL_VERSION_MIN 3

/* --- messages of a member ------------------------------------------------- */

/* clang-format off */
#define SKN_CONTROL_HELLO_FIELDS(F, L, R)                                      \
    F(R, U64, version, ALWAYS, "version of this protocol")                     \
    F(R, U64, incarnation, ALWAYS, "random number of the process")             \
    F(R, U64, generation, ALWAYS, "generation that its worker runs; "          \
      "0: none")                                                               \
    F(R, U64, newest, ALWAYS, "generation of its newest worker; 0: none "      \
      "since the process began or rested")                                     \
    F(R, U64, cores, ALWAYS, "number of cores of its node")                    \
    F(R, TEXT, settings, ALWAYS, "training settings of its config, at most "   \
      "64 KiB; the coordinator compares them")
#define SKN_CONTROL_PULSE_FIELDS(F, L, R)                                      \
    F(R, U64, pulse, ALWAYS, "number of this pulse")                           \
    F(R, U64, generation, ALWAYS, "generation that its worker runs; "          \
      "0: none")                                                               \
    F(R, U64, batch, ALWAYS, "last batch, if its worker leads")                \
    F(R, U64, worked, ALWAYS, "generation of its newest worker")               \
    F(R, U64, busy_ns, ALWAYS, "time that this worker spent in batches and "   \
      "evaluations, if it leads")                                              \
    F(R, U64, cpu_ns, ALWAYS, "CPU time of all its workers")                   \
    F(R, U64, sent_bytes, ALWAYS, "bytes sent to other nodes by all its "      \
      "workers")                                                               \
    F(R, U64, load_us, ALWAYS, "time in which the worker's busiest core had "  \
      "work")                                                                  \
    F(R, U64, load_at_us, ALWAYS, "the worker's clock when `load_us` was read")\
    F(R, U64, room_bytes, ALWAYS, "bytes free on its disk; 0: unknown")
#define SKN_CONTROL_CHECKPOINT_FIELDS(F, L, R)                                 \
    F(R, U64, batch, ALWAYS, "batch of the checkpoint")                        \
    F(R, U64, layout, ALWAYS, "generation that wrote it")                      \
    F(R, TEXT, seal, ALWAYS, "seal of its manifest")                           \
    F(R, TEXT, run, ALWAYS, "id of its run")                                   \
    F(R, FLAG, finished, ALWAYS, "whether the training was done")              \
    F(R, ANY, files, ALWAYS, "pairs: name of a file, and whether the node "    \
      "has it")                                                                \
    F(R, TEXT, manifest, MAYBE, "its manifest, unless the coordinator knows "  \
      "the seal")
#define SKN_CONTROL_INVENTORY_FIELDS(F, L, R)                                  \
    L(R, skn_control_checkpoint, checkpoints, ALWAYS, "checkpoints that it "   \
      "holds, newest first")                                                   \
    F(R, TEXT, salvage, MAYBE, "manifest of the blocks that it salvaged when " \
      "a generation broke off")
#define SKN_CONTROL_SAVED_FIELDS(F, L, R)                                      \
    F(R, U64, generation, ALWAYS, "generation that wrote the checkpoint")      \
    F(R, U64, batch, ALWAYS, "batch of the complete checkpoint")
#define SKN_CONTROL_UNREACHABLE_FIELDS(F, L, R)                                \
    F(R, TEXTS, nodes, ALWAYS, "nodes that its worker has not heard from for " \
      "4 s, or that it could not reach since the worker ended")
#define SKN_CONTROL_ENDED_FIELDS(F, L, R)                                      \
    F(R, U64, generation, ALWAYS, "generation of the worker that ended")       \
    F(R, TEXT, how, ALWAYS, "`well`, `done`, `stopped` or `failed`")           \
    F(R, U64, code, ALWAYS, "exit code of the failure; 0: none")               \
    F(R, TEXT, text, ALWAYS, "error message of the failure")                   \
    F(R, TEXT, hint, ALWAYS, "what to do about it")

/* --- messages of the coordinator ------------------------------------------ */

#define SKN_CONTROL_ACKNOWLEDGE_FIELDS(F, L, R)                                \
    F(R, U64, pulse, ALWAYS, "number of the pulse; the lease counts from the " \
      "time when it was sent")
#define SKN_CONTROL_LIST_FIELDS(F, L, R)                                       \
    F(R, TEXTS, known, ALWAYS, "seals of manifests that need not be sent")
/* The fields are those of `nodes` in a model file (topology/model), but for
 * `key`, which there is a path. */
#define SKN_CONTROL_NODE_FIELDS(F, L, R)                                       \
    F(R, TEXT, name, ALWAYS, "name of the node")                               \
    F(R, TEXT, address, MAYBE, "its address, tcp://host:port")                 \
    F(R, TEXT, via, MAYBE, "node that relays to it if it has no address")      \
    F(R, TEXT, key, MAYBE, "its public key")                                   \
    F(R, ANY, cores, MAYBE, "`auto`, a number, or a list of cores")            \
    F(R, U64, memory, MAYBE, "bytes of memory that it may use")                \
    F(R, REAL, speed, MAYBE, "speed of a core relative to the other nodes")    \
    F(R, REAL, notice, MAYBE, "seconds in which it can leave")                 \
    F(R, FLAG, leaves, MAYBE, "whether it only serves the checkpoint")
#define SKN_CONTROL_START_FIELDS(F, L, R)                                      \
    F(R, U64, generation, ALWAYS, "generation to start")                       \
    F(R, TEXT, run, ALWAYS, "id of the run")                                   \
    F(R, U64, batch, ALWAYS, "batch at which it begins")                       \
    F(R, U64, layout, ALWAYS, "generation that wrote the checkpoint")          \
    F(R, FLAG, saved, ALWAYS, "true: begin from a checkpoint; false: from the "\
      "seed")                                                                  \
    F(R, FLAG, composed, MAYBE, "whether `manifest` combines salvages and a "  \
      "checkpoint")                                                            \
    F(R, TEXT, manifest, MAYBE, "manifest of that checkpoint")                 \
    L(R, skn_control_node, nodes, ALWAYS, "nodes that take part; the first "   \
      "one leads")
#define SKN_CONTROL_PAUSE_FIELDS(F, L, R)                                      \
    F(R, U64, generation, ALWAYS, "generation to end at its next marker")
#define SKN_CONTROL_ABORT_FIELDS(F, L, R)                                      \
    F(R, FLAG, salvage, ALWAYS, "whether first to write the blocks that the "  \
      "worker owns")
#define SKN_CONTROL_REFUSE_FIELDS(F, L, R)                                     \
    F(R, U64, code, ALWAYS, "exit code of the member")                         \
    F(R, TEXT, text, ALWAYS, "the reason")                                     \
    F(R, TEXT, hint, ALWAYS, "what to do about it")
#define SKN_CONTROL_DISMISS_FIELDS(F, L, R)                                    \
    F(R, TEXT, how, ALWAYS, "the run is `done`, was `stopped`, has `failed`, " \
      "or continues without the member (`left`)")                              \
    F(R, U64, code, MAYBE, "exit code of the failure that made it leave")      \
    F(R, TEXT, text, MAYBE, "error message of that failure")                   \
    F(R, TEXT, hint, MAYBE, "what to do about it")

/* M(word, WORD, fields, when it is sent); B has no fields. */
#define SKN_MEMBER_MESSAGES(M, B)                                              \
    M(hello, HELLO, "after connecting, and when asked by `identify`")          \
    M(pulse, PULSE, "every half second")                                       \
    M(inventory, INVENTORY, "in answer to `list`")                             \
    M(saved, SAVED, "when a checkpoint is complete, and every 2 s")            \
    M(unreachable, UNREACHABLE, "when the set changes, and every 2 s")         \
    M(ended, ENDED, "when its worker ends, and every 2 s until it starts "     \
      "another one")                                                           \
    B(leaving, LEAVING, "when it wants to leave, and every 2 s")
#define SKN_COORDINATOR_MESSAGES(M, B)                                         \
    M(acknowledge, ACKNOWLEDGE, "in answer to each `pulse`")                   \
    B(identify, IDENTIFY, "to a member that was presumed dead or is not "      \
      "admitted, and to check that one is alive; the answer is `hello`")       \
    M(list, LIST, "before a generation; the answer is `inventory`")            \
    M(start, START, "to each member of a new generation")                      \
    M(pause, PAUSE, "to the leader of a generation")                           \
    M(abort, ABORT, "to end a worker at once")                                 \
    M(refuse, REFUSE, "in answer to the `hello` of a process that may not "    \
      "join")                                                                  \
    M(dismiss, DISMISS, "to a member that may end")

#define SKN_CONTROL_STRUCT(word, WORD, when)                                   \
    SKN_JSON_STRUCT(skn_control_##word, SKN_CONTROL_##WORD##_FIELDS)
#define SKN_CONTROL_NOTHING(word, WORD, when)
#define SKN_CONTROL_EXTERN(word, WORD, when)                                   \
    extern const skn_json_record_t skn_control_##word##_record;
#define SKN_CONTROL_MEMBER(word, WORD, when) skn_control_##word##_t word;
#define SKN_CONTROL_KIND(word, WORD, when) SKN_CONTROL_MESSAGE_##WORD,
SKN_JSON_STRUCT(skn_control_checkpoint, SKN_CONTROL_CHECKPOINT_FIELDS)
SKN_JSON_STRUCT(skn_control_node, SKN_CONTROL_NODE_FIELDS)
SKN_MEMBER_MESSAGES(SKN_CONTROL_STRUCT, SKN_CONTROL_NOTHING)
SKN_COORDINATOR_MESSAGES(SKN_CONTROL_STRUCT, SKN_CONTROL_NOTHING)
extern const skn_json_record_t skn_control_checkpoint_record,
    skn_control_node_record;
SKN_MEMBER_MESSAGES(SKN_CONTROL_EXTERN, SKN_CONTROL_NOTHING)
SKN_COORDINATOR_MESSAGES(SKN_CONTROL_EXTERN, SKN_CONTROL_NOTHING)
/* clang-format on */

typedef enum skn_control_message_kind {
    SKN_CONTROL_MESSAGE_UNKNOWN, /* of a newer version: to be ignored */
    SKN_MEMBER_MESSAGES(SKN_CONTROL_KIND, SKN_CONTROL_KIND)
    SKN_COORDINATOR_MESSAGES(SKN_CONTROL_KIND,
                             SKN_CONTROL_KIND) SKN_CONTROL_MESSAGE_KINDS
} skn_control_message_kind_t;

/* A message; the member of its kind is valid. */
typedef struct skn_control_message {
    skn_control_message_kind_t kind;
    json_t *owned; /* holds the texts and lists, or is NULL: the caller does */
    union {
        SKN_MEMBER_MESSAGES(SKN_CONTROL_MEMBER, SKN_CONTROL_NOTHING)
        SKN_COORDINATOR_MESSAGES(SKN_CONTROL_MEMBER, SKN_CONTROL_NOTHING)
    };
} skn_control_message_t;

/* The description of a kind: its word, when it is sent, and its fields (NULL:
 * it has none). NULL for SKN_CONTROL_MESSAGE_UNKNOWN. */
typedef struct skn_control_description {
    const char *word, *when;
    const skn_json_record_t *record;
    bool is_member; /* members send it */
} skn_control_description_t;
const skn_control_description_t *skn_control_message_describe(
    skn_control_message_kind_t kind);

/* Reads a message, which may contain anything: SKN_BAD_MESSAGE. Closed by
 * skn_control_message_fini, also after a failure. */
skn_status_t skn_control_message_read(skn_frame_t frame,
                                      skn_control_message_t *message,
                                      skn_error_t *error);
void skn_control_message_fini(skn_control_message_t *message);
/* Writes a message as text, to be freed by the caller. NULL: no memory. */
char *skn_control_message_write(const skn_control_message_t *message);
/* Sends `message`, which remains the caller's. */
skn_status_t skn_control_message_send(skn_control_t *control, uint32_t member,
                                      const skn_control_message_t *message,
                                      skn_error_t *error);

/* Sets `error` to a failure that a message reports, in printable characters: it
 * reaches terminals and logs. */
void skn_control_message_error(uint64_t code, const char *text,
                               const char *hint, skn_error_t *error);
/* How a worker has ended; sets `error` for SKN_ENDING_FAILED, which is also the
 * result for an unknown word. */
skn_ending_t skn_control_message_ending(const skn_control_ended_t *ended,
                                        skn_error_t *error);

/* Convert a set of the model's nodes to an array of their names, and back: bit
 * k is node k. Unknown names are ignored. NULL if memory is short. */
json_t *skn_control_node_names(const skn_model_t *model, uint64_t set);
uint64_t skn_control_node_set(const skn_model_t *model, const json_t *names);

#endif
