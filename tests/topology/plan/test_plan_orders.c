/* test_plan_orders.c - a decoder learns the same bits in whatever order
 * messages come, and whenever its stages have time for W.
 *
 * The whole pipeline runs in one process. Between an actor and its inbox stands
 * a network that is late: what has arrived is kept from the actor for a drawn
 * number of looks, and what may be taken then is taken in a drawn order. What
 * one actor sends to another through one pipe stays in its order. An actor that
 * is kept waiting finds nothing, and produces. A seed gives the draws; threads
 * make more of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/topology/plan/decoder_runs.h"

#include <pthread.h>
#include <sched.h>

#include "actors/protocol/messages.h"
#include "actors/runtime/actor.h"

#define SEEDS 100
#define INBOXES_MAX 256
#define HELD_MAX 512
#define LOOKS_MAX 32
#define LOOKS_FEW 4

void __real_skn_actor_run(skn_actor_t *actor);
void __wrap_skn_actor_run(skn_actor_t *actor);
bool __real_skn_inbox_take(skn_inbox_t *inbox, skn_parcel_t *parcel);
bool __wrap_skn_inbox_take(skn_inbox_t *inbox, skn_parcel_t *parcel);
void __real_skn_inbox_look(skn_inbox_t *inbox);
void __wrap_skn_inbox_look(skn_inbox_t *inbox);
void __real_skn_inbox_close(skn_inbox_t **inbox);
void __wrap_skn_inbox_close(skn_inbox_t **inbox);
void __real_skn_inbox_wait(skn_inbox_t *const *inboxes, size_t count,
                           const struct pollfd *other, int timeout_ms);
void __wrap_skn_inbox_wait(skn_inbox_t *const *inboxes, size_t count,
                           const struct pollfd *other, int timeout_ms);

/* The parcels that wait in front of an inbox. Only the thread of its actor uses
 * them. */
typedef struct queue {
    const skn_inbox_t *inbox; /* NULL: free */
    oracle_random_t random;
    bool is_leaving; /* everything is handed out at once */
    uint32_t count, overtakings;
    struct {
        skn_parcel_t parcel;
        uint32_t looks;
    } held[HELD_MAX]; /* in their order */
} queue_t;

static queue_t queues[INBOXES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t seed; /* 0: nothing is late */
static uint32_t overtakings;
static _Thread_local const skn_actor_t *self;

void
__wrap_skn_actor_run(skn_actor_t *actor)
{
    self = actor;
    __real_skn_actor_run(actor);
}

static queue_t *
queue_of(const skn_inbox_t *inbox)
{
    queue_t *queue = NULL;
    (void)pthread_mutex_lock(&lock);
    for (size_t k = 0; k < INBOXES_MAX; k++) {
        if (queues[k].inbox == inbox) {
            queue = &queues[k];
            break;
        }
        if (!queue && !queues[k].inbox)
            queue = &queues[k];
    }
    cr_assert(queue);
    if (!queue->inbox) {
        queue->inbox = inbox;
        queue->random.state = seed * INBOXES_MAX + (size_t)(queue - queues);
    }
    (void)pthread_mutex_unlock(&lock);
    return queue;
}

static bool
is_late(const skn_parcel_t *parcel)
{
    return parcel->type <= SKN_PARCEL_CREDIT;
}

static bool
is_state(const skn_parcel_t *parcel)
{
    const skn_in_edge_t *edge = &self->in_edges[parcel->slot];
    const skn_schema_t *schema = edge->pipe->wired->schema;
    return schema == &skn_tensor_schema || schema == &skn_chunk_schema;
}

/* Whether the two have to stay in order: all that comes through one pipe; the
 * state of an owner (actors/rows/state_sender.h); and all that is no pipe's.
 * Credit is a sum. */
static bool
are_in_order(const skn_parcel_t *a, const skn_parcel_t *b)
{
    if (!is_late(a) || !is_late(b))
        return is_late(a) == is_late(b);
    if (a->type == SKN_PARCEL_CREDIT || b->type == SKN_PARCEL_CREDIT)
        return false;
    return a->slot == b->slot ||
           (is_state(a) && is_state(b) &&
            self->in_edges[a->slot].sender == self->in_edges[b->slot].sender);
}

static void
take_in(queue_t *queue, skn_inbox_t *inbox)
{
    skn_parcel_t parcel;
    while (queue->count < HELD_MAX && __real_skn_inbox_take(inbox, &parcel)) {
        uint32_t most = oracle_next(&queue->random) % 4 ? LOOKS_FEW : LOOKS_MAX;
        queue->held[queue->count].looks =
            is_late(&parcel) ? oracle_next(&queue->random) % most : 0;
        queue->held[queue->count++].parcel = parcel;
    }
}

/* Whether number `k` may be handed out; it has been looked at once more. */
static bool
is_due(queue_t *queue, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++)
        if (are_in_order(&queue->held[i].parcel, &queue->held[k].parcel))
            return false;
    if (queue->is_leaving || queue->held[k].looks == 0)
        return true;
    queue->held[k].looks--;
    return false;
}

bool
__wrap_skn_inbox_take(skn_inbox_t *inbox, skn_parcel_t *parcel)
{
    uint32_t due[HELD_MAX], count = 0;
    if (seed == 0)
        return __real_skn_inbox_take(inbox, parcel);
    queue_t *queue = queue_of(inbox);
    take_in(queue, inbox);
    for (uint32_t k = 0; k < queue->count; k++)
        if (is_due(queue, k))
            due[count++] = k;
    if (count == 0)
        return false;
    uint32_t taken = due[oracle_next(&queue->random) % count];
    *parcel = queue->held[taken].parcel;
    queue->overtakings += taken > 0;
    queue->count--;
    memmove(&queue->held[taken], &queue->held[taken + 1],
            (queue->count - taken) * sizeof(queue->held[0]));
    return true;
}

void
__wrap_skn_inbox_look(skn_inbox_t *inbox)
{
    if (seed > 0)
        queue_of(inbox)->is_leaving = true;
    __real_skn_inbox_look(inbox);
}

void
__wrap_skn_inbox_close(skn_inbox_t **inbox)
{
    if (seed > 0 && *inbox) {
        queue_t *queue = queue_of(*inbox);
        (void)pthread_mutex_lock(&lock);
        overtakings += queue->overtakings;
        *queue = (queue_t){ .inbox = NULL };
        (void)pthread_mutex_unlock(&lock);
    }
    __real_skn_inbox_close(inbox);
}

/* An actor whose messages are late looks again at once. */
void
__wrap_skn_inbox_wait(skn_inbox_t *const *inboxes, size_t count,
                      const struct pollfd *other, int timeout_ms)
{
    for (size_t k = 0; k < count && seed > 0; k++)
        if (inboxes[k] && queue_of(inboxes[k])->count > 0) {
            (void)sched_yield();
            return;
        }
    __real_skn_inbox_wait(inboxes, count, other, timeout_ms);
}

TestSuite(plan_orders, .init = set_up, .fini = tear_down, .timeout = 300);

/* The weights and the loss of a run, as its last event tells them. */
static void
learn(uint32_t stages, char *sha256, double *loss)
{
    static char event[EVENT_BYTES];
    char word[32];
    const char *const words[] = { word, "train.steps=2", "train.validate=0",
                                  "train.micro_tokens=32",
                                  "train.batch_tokens=128" };
    (void)snprintf(word, sizeof(word), "model.stages=%u", stages);
    train(words, sizeof(words) / sizeof(words[0]), "\"done\"", event);
    const char *at = strstr(event, "\"weights_sha256\":\"");
    const char *loss_at = strstr(event, "\"loss\":");
    cr_assert(at && loss_at, "%s", event);
    (void)snprintf(sha256, 65, "%s", at + strlen("\"weights_sha256\":\""));
    *loss = strtod(loss_at + strlen("\"loss\":"), NULL);
}

/* Threads of one core hand messages over without waking another one. */
static void
stay_on_one_core(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
}

Test(plan_orders, a_hundred_orders_of_messages_give_the_same_bits)
{
    char want[65], got[65];
    double loss, want_loss;
    stay_on_one_core();
    learn(1, want, &want_loss);
    for (seed = 1; seed <= SEEDS; seed++) {
        overtakings = 0;
        learn(1 + (uint32_t)seed % 4, got, &loss);
        cr_expect_str_eq(got, want, "seed %u", (unsigned)seed);
        cr_expect_eq(loss, want_loss, "seed %u: %.17g", (unsigned)seed, loss);
        cr_expect_gt(overtakings, 0, "seed %u", (unsigned)seed);
    }
}
