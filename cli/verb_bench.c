/* verb_bench.c - skein bench: rate and latency of each pattern of pipes.
 *
 * Rate: senders send as fast as credit allows for RUN_NS; the rate is the
 * number of messages that the receivers handled over the time from the first to
 * the last. Latency: one message of each sender is in flight; it is the time
 * from the sender's turn to the receiver's. Payloads are neither written nor
 * read, so that only the transport is measured. The roof is bare libzmq: the
 * same 24 bytes with a pointer, and a copy of the whole message.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include "cli/base/verbs.h"
#include "skein/topology.h"

#define RUNS 5
#define RUN_NS ((uint64_t)40 * 1000 * 1000)
#define LATENCY_MESSAGES 1000
#define SAMPLES_MAX 16384
#define RECEIVERS_MAX 4
#define BYTES_MAX ((size_t)1 << 20)
#define ACK_CREDIT 256

#define FIELDS_load(F, M)                                                      \
    F(M, u64, batch, UINT64_MAX, "counted by each sender")                     \
    F(M, u32, key, UINT32_MAX, "where scatter sends it")                       \
    F(M, u64, sent_ns, UINT64_MAX, "when its sender's turn began")             \
    F(M, bytes, bytes, BYTES_MAX, "the weight")
SKN_MESSAGE_STRUCT(load, FIELDS_load)
SKN_MESSAGE_SCHEMA(load, "load", 65000, FIELDS_load, "a weight to carry")
#define FIELDS_ack(F, M) F(M, u64, batch, UINT64_MAX, "what was handled")
SKN_MESSAGE_STRUCT(ack, FIELDS_ack)
SKN_MESSAGE_SCHEMA(ack, "ack", 65001, FIELDS_ack, "it was handled")

/* The messages of a receiver: written by its thread, read after the run. */
typedef struct seen {
    uint64_t count, first_ns, last_ns;
    uint32_t sample_count;
    uint32_t sample_ns[SAMPLES_MAX];
} seen_t;

static seen_t seen[RECEIVERS_MAX];

typedef struct shape {
    const char *name, *pattern;
    uint32_t senders, receivers;
    uint32_t acks;     /* acknowledgements for one message of each sender */
    bool must_collect; /* senders must send the same batches */
} shape_t;

static const shape_t shapes[] = {
    { "one 1:1", "one", 1, 1, 1, false },
    { "one 3:1", "one", 3, 1, 3, false },
    { "broadcast 1:3", "broadcast", 1, 3, 3, false },
    { "scatter 1:3", "scatter", 1, 3, 1, false },
    { "any 1:3", "any", 1, 3, 1, false },
    { "gather 3:1", "gather", 3, 1, 1, true },
    { "reduce 3:1", "reduce", 3, 1, 1, true },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

typedef struct figures {
    double ns_each, spread; /* median of the runs; (q3 - q1) / median */
    double p50_ns, p99_ns;
} figures_t;

static uint64_t
now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void
note(seen_t *receiver, uint64_t sent_ns, uint64_t at_ns, bool sample)
{
    if (receiver->count++ == 0)
        receiver->first_ns = at_ns;
    receiver->last_ns = at_ns;
    if (sample && receiver->sample_count < SAMPLES_MAX)
        receiver->sample_ns[receiver->sample_count++] =
            (uint32_t)(at_ns - sent_ns);
}

/* --- the kinds ------------------------------------------------------------ */

typedef struct sender {
    uint64_t made, begin_ns, count;
    int64_t acks, acks_missing;
    size_t bytes;
} sender_t;

static skn_status_t
sender_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    sender_t *sender = state;
    (void)error;
    sender->acks = skn_actor_option_int(actor, "acks");
    sender->count = (uint64_t)skn_actor_option_int(actor, "count");
    sender->bytes = (size_t)skn_actor_option_int(actor, "bytes");
    return SKN_OK;
}

static skn_status_t
sender_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    sender_t *sender = state;
    uint64_t at_ns = skn_actor_time_ns(actor), count = sender->count;
    if (sender->acks_missing > 0) {
        skn_actor_rest(actor);
        return SKN_OK;
    }
    sender->begin_ns = sender->made == 0 ? at_ns : sender->begin_ns;
    if (count > 0 ? sender->made == count : at_ns - sender->begin_ns > RUN_NS) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    load_t *load =
        skn_actor_message(actor, &load_schema, &sender->bytes, error);
    if (!load)
        return error->status;
    load->batch = sender->made++;
    load->key = (uint32_t)(load->batch % 3);
    load->sent_ns = at_ns;
    sender->acks_missing += sender->acks; /* some may have arrived earlier */
    return skn_actor_post(actor, load, error);
}

static skn_status_t
sender_ack(skn_actor_t *actor, void *state, const void *message,
           skn_error_t *error)
{
    (void)actor, (void)message, (void)error;
    ((sender_t *)state)->acks_missing--;
    return SKN_OK;
}

static skn_status_t
receiver_take(skn_actor_t *actor, const load_t *load, uint64_t count,
              skn_error_t *error)
{
    ack_t ack = { load->batch };
    bool sample = skn_actor_receivers(actor, &ack_schema) > 0;
    seen_t *receiver = &seen[skn_actor_index(actor)];
    note(receiver, load->sent_ns, sample ? now_ns() : skn_actor_time_ns(actor),
         sample);
    receiver->count += count - 1;
    return sample ? skn_actor_send(actor, &ack_schema, &ack, error) : SKN_OK;
}

static skn_status_t
on_load(skn_actor_t *actor, void *state, const void *message,
        skn_error_t *error)
{
    uint64_t each = (uint64_t)skn_actor_option_int(actor, "each");
    (void)state;
    return receiver_take(actor, message, each, error);
}

static skn_status_t
on_parts(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    const skn_parts_t *parts = message;
    (void)state;
    return receiver_take(actor, parts->at[0], parts->count, error);
}

static skn_status_t
combine(void *sum, const void *part, skn_error_t *error)
{
    (void)sum, (void)part, (void)error;
    return SKN_OK;
}

static const skn_option_t sender_options[] = {
    { "bytes", SKN_OPTION_INT, "0", 0, 1 << 20, NULL, "of each message" },
    { "acks", SKN_OPTION_INT, "0", 0, 8, NULL, "to wait for; 0: none" },
    { "count", SKN_OPTION_INT, "0", 0, 1e15, NULL, "messages; 0: by time" },
    { 0 },
};
static const skn_option_t receiver_options[] = {
    { "each", SKN_OPTION_INT, "1", 1, 8, NULL, "parts in what is handled" },
    { 0 },
};
static const skn_schema_t *const load_sends[] = { &load_schema, NULL };
static const skn_schema_t *const ack_sends[] = { &ack_schema, NULL };
static const skn_handler_t ack_handlers[] = { { &ack_schema, sender_ack, NULL },
                                              { 0 } };
static const skn_handler_t load_handlers[] = { { &load_schema, on_load,
                                                 combine },
                                               { 0 } };
static const skn_handler_t part_handlers[] = { { &load_schema, on_parts,
                                                 combine },
                                               { 0 } };
static const skn_kind_t sender_kind =
    SKN_KIND(.name = "flow_sender", .state_bytes = sizeof(sender_t),
             .options = sender_options, .handlers = ack_handlers,
             .sends = load_sends, .open = sender_open,
             .produce = sender_produce, .gate = true);
static const skn_kind_t receiver_kind =
    SKN_KIND(.name = "flow_receiver", .options = receiver_options,
             .handlers = load_handlers, .sends = ack_sends);
static const skn_kind_t gatherer_kind =
    SKN_KIND(.name = "flow_gatherer", .options = receiver_options,
             .handlers = part_handlers, .sends = ack_sends);
static const skn_kind_t *const kinds[] = { &sender_kind, &receiver_kind,
                                           &gatherer_kind, NULL };

/* --- one run -------------------------------------------------------------- */

/* The credit of a pipe that sets none, if its messages have at most `bytes`
 * (topology/spec/spec_pipes.c). The schema here allows more. */
static int
usual_credit(const shape_t *shape, size_t bytes)
{
    size_t fits = BYTES_MAX / bytes, most = shape->must_collect ? 256 : 1024;
    return (int)(fits < 16 ? 16 : fits < most ? fits : most);
}

/* Writes the topology of a shape; with acknowledgements if `paced`. */
static void
draw(const shape_t *shape, size_t bytes, uint64_t count, bool paced, char *text,
     size_t text_bytes)
{
    bool gather = strcmp(shape->pattern, "gather") == 0;
    bool scatter = strcmp(shape->pattern, "scatter") == 0;
    int used = snprintf(
        text, text_bytes,
        "skein: 1\ntopology:\n  name: flow\n  actors:\n"
        "    - { name: s, kind: flow_sender, replicate: %u, options: { bytes: "
        "%zu, acks: %u, count: %" PRIu64 " } }\n"
        "    - { name: r, kind: %s, replicate: %u, options: { each: %u } }\n"
        "  pipes:\n    - { from: s, to: r, message: load, pattern: %s, "
        "credit: %d%s }\n",
        shape->senders, bytes, paced ? shape->acks : 0, count,
        gather ? "flow_gatherer" : "flow_receiver", shape->receivers,
        shape->must_collect && !gather ? shape->senders : 1, shape->pattern,
        paced ? 1 : usual_credit(shape, bytes),
        scatter ? ", key: key, bounds: [0, 1, 2, 3]" : "");
    if (paced && used > 0)
        (void)snprintf(text + used, text_bytes - (size_t)used,
                       "    - { from: r, to: s, message: ack, pattern: %s, "
                       "credit: %d }\n",
                       shape->senders > 1 ? "broadcast" : "one", ACK_CREDIT);
}

static skn_status_t
run(const shape_t *shape, size_t bytes, uint64_t count, bool paced,
    skn_error_t *error)
{
    char text[2048];
    draw(shape, bytes, count, paced, text, sizeof(text));
    memset(seen, 0, sizeof(seen));
    skn_topology_t *topology =
        skn_topology_new(text, "bench flow", kinds, error);
    if (!topology)
        return error->status;
    /* Threads are not bound, as with bare libzmq: a wake-up on the other core
     * costs more. */
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    skn_status_t status = skn_topology_start(topology, &options, error);
    if (status == SKN_OK)
        status = skn_topology_wait(topology, error);
    skn_topology_destroy(&topology);
    return status;
}

static uint64_t
handled(void)
{
    uint64_t count = 0;
    for (uint32_t k = 0; k < RECEIVERS_MAX; k++)
        count += seen[k].count;
    return count;
}

static double
ns_each(void)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t k = 0; k < RECEIVERS_MAX; k++) {
        if (seen[k].count == 0)
            continue;
        first = seen[k].first_ns < first ? seen[k].first_ns : first;
        last = seen[k].last_ns > last ? seen[k].last_ns : last;
    }
    return handled() > 1 ? (double)(last - first) / (double)handled() : 0;
}

static int
order(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int
order_samples(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void
median_of_runs(double *run_ns, figures_t *figures)
{
    qsort(run_ns, RUNS, sizeof(*run_ns), order);
    figures->ns_each = run_ns[RUNS / 2];
    figures->spread =
        (run_ns[RUNS * 3 / 4] - run_ns[RUNS / 4]) / run_ns[RUNS / 2];
}

/* Computes the quantiles of the first receiver with samples: all see the
 * same. */
static void
quantiles(figures_t *figures)
{
    for (uint32_t k = 0; k < RECEIVERS_MAX; k++) {
        seen_t *one = &seen[k];
        if (one->sample_count == 0)
            continue;
        qsort(one->sample_ns, one->sample_count, sizeof(uint32_t),
              order_samples);
        figures->p50_ns = one->sample_ns[one->sample_count / 2];
        figures->p99_ns = one->sample_ns[one->sample_count * 99 / 100];
        return;
    }
}

/* Measures a shape. Senders that must agree send `count` messages each, which
 * is what one sender managed in the run of "one 3:1". */
static skn_status_t
measure(const shape_t *shape, size_t bytes, uint64_t *count, figures_t *figures,
        skn_error_t *error)
{
    double run_ns[RUNS];
    skn_status_t status = SKN_OK;
    for (int k = 0; k < RUNS && status == SKN_OK; k++) {
        status =
            run(shape, bytes, shape->must_collect ? *count : 0, false, error);
        run_ns[k] = ns_each();
    }
    if (status != SKN_OK)
        return status;
    if (shape->senders > 1 && !shape->must_collect) {
        *count = handled() / shape->senders / (bytes > 65536 ? 16 : 1) + 1;
    }
    median_of_runs(run_ns, figures);
    status = run(shape, bytes, LATENCY_MESSAGES, true, error);
    quantiles(figures);
    return status;
}

/* --- the roof: bare libzmq, and memcpy ------------------------------------ */

typedef struct bare {
    void *context;
    size_t bytes; /* bytes copied; 0: 24 bytes with a pointer */
    bool paced;
    uint64_t count;
} bare_t;

static char source_bytes[BYTES_MAX];

static void
bare_send(void *socket, size_t bytes)
{
    uint64_t parcel[3] = { now_ns(), 0, 0 };
    zmq_msg_t message;
    if (bytes == 0) {
        (void)zmq_send(socket, parcel, sizeof(parcel), 0);
        return;
    }
    if (zmq_msg_init_size(&message, bytes) != 0)
        return;
    memcpy(zmq_msg_data(&message), source_bytes, bytes);
    memcpy(zmq_msg_data(&message), parcel, sizeof(parcel));
    (void)zmq_msg_send(&message, socket, 0);
}

static void *
bare_sender(void *thread_argument)
{
    const bare_t *bare = thread_argument;
    void *out = zmq_socket(bare->context, ZMQ_PUSH);
    void *back = zmq_socket(bare->context, ZMQ_PULL);
    (void)zmq_connect(out, "inproc://out");
    (void)zmq_connect(back, "inproc://back");
    for (uint64_t k = 0; k < bare->count; k++) {
        char byte;
        bare_send(out, bare->bytes);
        if (bare->paced)
            (void)zmq_recv(back, &byte, 1, 0);
    }
    zmq_close(out);
    zmq_close(back);
    return NULL;
}

static skn_status_t
bare_run(bare_t *bare, skn_error_t *error)
{
    pthread_t thread;
    memset(seen, 0, sizeof(seen));
    bare->context = zmq_ctx_new();
    void *in = zmq_socket(bare->context, ZMQ_PULL);
    void *back = zmq_socket(bare->context, ZMQ_PUSH);
    (void)zmq_bind(in, "inproc://out");
    (void)zmq_bind(back, "inproc://back");
    bool started = pthread_create(&thread, NULL, bare_sender, bare) == 0;
    for (uint64_t k = 0; started && k < bare->count; k++) {
        uint64_t parcel[3] = { 0 };
        zmq_msg_t message;
        (void)zmq_msg_init(&message);
        if (zmq_msg_recv(&message, in, 0) >= (int)sizeof(parcel))
            memcpy(parcel, zmq_msg_data(&message), sizeof(parcel));
        (void)zmq_msg_close(&message);
        note(&seen[0], parcel[0], now_ns(), bare->paced);
        if (bare->paced)
            (void)zmq_send(back, "", 1, 0);
    }
    if (started)
        (void)pthread_join(thread, NULL);
    zmq_close(in);
    zmq_close(back);
    (void)zmq_ctx_term(bare->context);
    return started ? SKN_OK : skn_fail(error, SKN_NO_MEMORY, "no thread");
}

static skn_status_t
measure_bare(size_t bytes, figures_t *figures, skn_error_t *error)
{
    double run_ns[RUNS];
    bare_t bare = { .bytes = bytes };
    skn_status_t status = SKN_OK;
    /* For about RUN_NS: 0.5 us a message and 0.1 us a KiB, both known to within
     * a factor of two. */
    bare.count = RUN_NS / (500 + bytes / 10);
    for (int k = 0; k < RUNS && status == SKN_OK; k++) {
        status = bare_run(&bare, error);
        run_ns[k] = ns_each();
    }
    median_of_runs(run_ns, figures);
    bare.paced = true;
    bare.count = LATENCY_MESSAGES;
    if (status == SKN_OK)
        status = bare_run(&bare, error);
    quantiles(figures);
    return status;
}

static void
measure_copy(size_t bytes, figures_t *figures)
{
    static char target[BYTES_MAX];
    double run_ns[RUNS];
    uint64_t count = RUN_NS / 4 / (20 + bytes / 10);
    for (int k = 0; k < RUNS; k++) {
        uint64_t begin_ns = now_ns();
        for (uint64_t i = 0; i < count; i++) {
            memcpy(target, source_bytes, bytes);
            __asm__ volatile("" ::"r"(target) : "memory"); /* keep the copy */
        }
        run_ns[k] = (double)(now_ns() - begin_ns) / (double)count;
    }
    median_of_runs(run_ns, figures);
}

/* --- printing ----------------------------------------------------------- */

static void
print(bool json, const char *name, size_t bytes, const figures_t *figures,
      double roof_ns)
{
    double rate = figures->ns_each > 0 ? 1e9 / figures->ns_each : 0;
    if (json) {
        skn_text_print(
            stdout,
            "{\"case\":\"%s\",\"bytes\":%zu,\"messages_per_s\":%.0f,"
            "\"ns_per_message\":%.1f,\"spread\":%.3f,\"p50_ns\":%.0f,"
            "\"p99_ns\":%.0f,\"share_of_bare\":%.3f}\n",
            name, bytes, rate, figures->ns_each, figures->spread,
            figures->p50_ns, figures->p99_ns, roof_ns / figures->ns_each);
    } else {
        skn_text_print(stdout, "%-22s %8zu %12.0f %9.0f %6.0f%%", name, bytes,
                       rate, figures->ns_each, 100 * figures->spread);
        if (figures->p50_ns > 0)
            skn_text_print(stdout, " %9.1f %9.1f", figures->p50_ns / 1e3,
                           figures->p99_ns / 1e3);
        else
            printf(" %9s %9s", "-", "-");
        skn_text_print(stdout, " %7.0f%%\n", 100 * roof_ns / figures->ns_each);
    }
    (void)fflush(stdout);
}

static skn_status_t
bench_size(bool json, size_t bytes, double roof_ns, skn_error_t *error)
{
    figures_t figures = { 0 };
    uint64_t count = 1;
    measure_copy(bytes, &figures);
    print(json, "memcpy", bytes, &figures, roof_ns);
    skn_status_t status = measure_bare(bytes, &figures, error);
    if (status == SKN_OK)
        print(json, "libzmq copying", bytes, &figures, roof_ns);
    for (size_t k = 0; k < SHAPES && status == SKN_OK; k++) {
        status = measure(&shapes[k], bytes, &count, &figures, error);
        if (status == SKN_OK)
            print(json, shapes[k].name, bytes, &figures, roof_ns);
    }
    return status;
}

static int
bench_run(const cli_call_t *call)
{
    static const size_t sizes[] = { 64, 4096, BYTES_MAX };
    skn_error_t error = { 0 };
    figures_t roof = { 0 };
    if (strcmp(call->operands[0], "flow") != 0) {
        (void)skn_fail(&error, SKN_USAGE, "unknown benchmark '%s'",
                       call->operands[0]);
        (void)skn_fail_hint(&error, SKN_USAGE, "available: flow");
        return cli_report(call, &error);
    }
    memset(source_bytes, 1, sizeof(source_bytes));
    if (!call->json)
        printf("%-22s %8s %12s %9s %7s %9s %9s %8s\n", "case", "bytes",
               "messages/s", "ns each", "spread", "p50 us", "p99 us",
               "of bare");
    skn_status_t status = measure_bare(0, &roof, &error);
    if (status == SKN_OK)
        print(call->json, "libzmq with pointers", 24, &roof, roof.ns_each);
    for (size_t k = 0; k < 3 && status == SKN_OK; k++)
        status = bench_size(call->json, sizes[k], roof.ns_each, &error);
    return status == SKN_OK ? 0 : cli_report(call, &error);
}

static const cli_option_t options[] = {
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_bench = {
    .name = "bench",
    .help = "measure messages between actors on this machine",
    .operands = "flow",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "flow: rate and latency of every pattern of pipes, at 64 B, 4 KiB and\n"
        "1 MiB, beside bare libzmq and memcpy. Takes about 20 s.\n\n"
        "Measure on a machine that does nothing else.",
    .run = bench_run,
};
