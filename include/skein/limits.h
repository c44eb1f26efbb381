/* limits.h - every hard limit of Skein, with its reason.
 *
 * Header only: every folder may include it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_LIMITS_H
#define SKEIN_LIMITS_H

#include <stdint.h>

/* Rows of one layer, and labels. Gather instructions read indices as signed. */
#define SKN_UNIT_MAX ((uint32_t)INT32_MAX)
/* Features and labels of one line of a data file. A line of a million
 * features is a mistake; the largest published set has about 10,000. */
#define SKN_LINE_ITEMS_MAX (1u << 20)
/* Bytes of one line of a data file: SKN_LINE_ITEMS_MAX items of 32 bytes. */
#define SKN_LINE_BYTES_MAX (1u << 25)
/* Points of a data file. A label occurs at most once in a point, so that its
 * frequency fits into 32 bits; the largest published set has 2 million. */
#define SKN_POINTS_MAX UINT32_MAX
/* Samples of one batch. Activations of a batch must fit in a cache or two. */
#define SKN_BATCH_ROWS_MAX (1u << 16)
/* Networks of an ensemble; trees of a ranker. */
#define SKN_ENSEMBLE_MAX 16u
#define SKN_RANKER_TREES_MAX 16u
/* The number of a layer, counted from 0 at the input. */
#define SKN_LAYER_MAX 1023u
/* Units of a hidden layer. */
#define SKN_HIDDEN_MAX (1u << 16)
/* Items of one run of a message: a batch's rows x hidden units. */
#define SKN_RUN_MAX (1u << 30)
/* Actors of one kind, and of one node: threads, and their sockets. Debian's
 * libzmq allows 1,023 sockets a context by default; the runtime raises it. */
#define SKN_SHARD_MAX 1024u
#define SKN_ACTORS_MAX 4096u
#define SKN_PIPES_MAX 16384u
/* Nodes of a run: the user lists them in a file, and each has a link to
 * each. */
#define SKN_CLUSTER_NODES_MAX 64u
/* Where the same nodes begin several runs, one after the other, the second half
 * of each one's id is these four bytes, and its number: a node may begin the
 * next while another still ends the last. */
#define SKN_RUN_PART_MARK "part"
/* Window of a run: staleness grows with it; 8 is already ample. */
#define SKN_WINDOW_MAX 64u
/* Batches that are issued and not yet applied by all owners. An owner is at
 * most a window ahead of its own updates, and those wait for the forward passes
 * of a window less one: 2 windows less 1 hide a long way to an owner
 * (source.c). */
#define SKN_ISSUED_MAX (2 * SKN_WINDOW_MAX - 1)
/* Credit of one pipe, in messages. */
#define SKN_CREDIT_MAX 65536u
/* The most rows of a block, the unit of ownership; and the least number of
 * blocks of a layer, if it has that many rows. */
#define SKN_BLOCK_ROWS_MAX 4096u
#define SKN_BLOCKS_MIN 256u
/* A string in a message, an option or a name. Paths are PATH_MAX = 4096. */
#define SKN_TEXT_MAX 4096u
#define SKN_NAME_MAX 64u
/* Header of an encoded message: the built-in ones are far smaller. */
#define SKN_HEADER_BYTES_MAX 65536u
/* Nesting and nodes of a msgpack header, before msgpack-c sees it. */
#define SKN_HEADER_DEPTH_MAX 8u
#define SKN_HEADER_NODES_MAX 4096u
/* One event, with its NUL: a host with a buffer of this size can read them
 * all. */
#define SKN_EVENT_BYTES_MAX 65536u
/* Events that the host has not read, before actors that send more of them wait:
 * some MB of typical events; a host that reads is never so far behind. */
#define SKN_EVENTS_MAX 16384u
/* Fields of one message. */
#define SKN_FIELDS_MAX 32u
/* Rounds of a coded run through the lengths of its rows: nodes of a merge tree
 * (SKN_TREE_NODES_MAX of actors/protocol/cover.h). Bounds the rows that are
 * counted. */
#define SKN_CODED_ROUNDS_MAX 64u
/* Ids of a user's own messages start here. */
#define SKN_USER_MESSAGE_ID_MIN 1000u
#define SKN_MESSAGE_ID_MAX 65535u
/* A config file: the largest sample is 4 KiB; a plan of 4,096 actors 1 MiB. */
#define SKN_CONFIG_BYTES_MAX (4u << 20)
#define SKN_CONFIG_DEPTH_MAX 16u
#define SKN_CONFIG_NODES_MAX 200000u
/* Greatest whole number that every reader of JSON and YAML keeps exactly: 2^53.
 * Seeds and numbers of batches end there. */
#define SKN_WHOLE_MAX 9007199254740992.0
/* The longest time between two events `progress`, and the longest that a run
 * trains on to its next marker after a stop: a day. More is a mistake of the
 * unit. */
#define SKN_PROGRESS_MS_MAX 86400000u
#define SKN_STOP_S_MAX 86400u
/* Timers of one actor kind. */
#define SKN_TIMERS_MAX 4u

#endif
