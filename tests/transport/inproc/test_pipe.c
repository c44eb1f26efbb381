/* test_pipe.c - tests inboxes and outlets between threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <czmq.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "transport/inproc/pipe.h"

TestSuite(pipe, .timeout = 60);

static skn_error_t error;
Test(pipe, parcels_arrive_whole_and_in_order)
{
    skn_inbox_t *inbox = skn_inbox_open("inproc://a", &error);
    skn_outlet_t *outlet = skn_outlet_open("inproc://a", &error);
    skn_parcel_t parcel;
    cr_assert(inbox && outlet, "%s", error.text);
    cr_expect(!skn_inbox_take(inbox, &parcel));
    /* Far more than libzmq's default mark of 1,000 a side. */
    for (uint32_t k = 0; k < 10000; k++) {
        parcel = (skn_parcel_t){ k, ~k, (uint64_t)k << 32, &parcel };
        cr_assert_eq(skn_outlet_put(outlet, &parcel, &error), SKN_OK);
    }
    for (uint32_t k = 0; k < 10000; k++) {
        cr_assert(skn_inbox_take(inbox, &parcel));
        cr_assert_eq(parcel.type, k);
        cr_assert_eq(parcel.slot, ~k);
        cr_assert_eq(parcel.number, (uint64_t)k << 32);
        cr_assert_eq(parcel.pointer, &parcel);
    }
    cr_expect(!skn_inbox_take(inbox, &parcel));
    skn_outlet_close(&outlet);
    skn_inbox_close(&inbox);
    cr_expect(!outlet && !inbox);
    skn_outlet_close(&outlet);
    skn_inbox_close(&inbox);
}

Test(pipe, an_outlet_may_come_before_its_inbox)
{
    skn_outlet_t *outlet = skn_outlet_open("inproc://late", &error);
    skn_parcel_t parcel = { .type = 5 };
    cr_assert(outlet);
    cr_expect_eq(skn_outlet_put(outlet, &parcel, &error), SKN_OK);
    skn_inbox_t *inbox = skn_inbox_open("inproc://late", &error);
    cr_assert(inbox);
    parcel.type = 0;
    cr_expect(skn_inbox_take(inbox, &parcel));
    cr_expect_eq(parcel.type, 5);
    skn_outlet_close(&outlet);
    skn_inbox_close(&inbox);
}

Test(pipe, an_address_belongs_to_one_inbox)
{
    skn_inbox_t *inbox = skn_inbox_open("inproc://one", &error);
    cr_assert(inbox);
    cr_expect_null(skn_inbox_open("inproc://one", &error));
    cr_expect_eq(error.status, SKN_INTERNAL);
    cr_expect_str_eq(error.text,
                     "cannot bind inproc://one: Address already in use");
    cr_expect_null(skn_outlet_open("nonsense", &error));
    cr_expect_str_eq(error.text,
                     "cannot connect to nonsense: Invalid argument");
    skn_inbox_close(&inbox);
}

#define SENDERS 4u
#define EACH 20000u

static void *
send_many(void *number)
{
    skn_outlet_t *outlet = skn_outlet_open("inproc://many", NULL);
    for (uint32_t k = 0; outlet && k < EACH; k++) {
        skn_parcel_t parcel = { .slot = (uint32_t)(uintptr_t)number,
                                .number = k };
        (void)skn_outlet_put(outlet, &parcel, NULL);
    }
    skn_outlet_close(&outlet);
    return NULL;
}

/* An outlet that is closed has sent what was put into it. */
Test(pipe, many_threads_send_to_one)
{
    pthread_t threads[SENDERS];
    uint64_t next[SENDERS] = { 0 };
    skn_parcel_t parcel;
    skn_inbox_t *inbox = skn_inbox_open("inproc://many", &error);
    cr_assert(inbox);
    for (uintptr_t k = 0; k < SENDERS; k++)
        cr_assert_eq(pthread_create(&threads[k], NULL, send_many, (void *)k),
                     0);
    for (uint32_t count = 0; count < SENDERS * EACH;) {
        skn_inbox_wait(&inbox, 1, NULL, -1);
        while (skn_inbox_take(inbox, &parcel)) {
            cr_assert_eq(parcel.number, next[parcel.slot]);
            next[parcel.slot]++;
            count++;
        }
    }
    for (uint32_t k = 0; k < SENDERS; k++)
        cr_assert_eq(pthread_join(threads[k], NULL), 0);
    cr_expect(!skn_inbox_take(inbox, &parcel));
    skn_inbox_close(&inbox);
}

Test(pipe, a_wait_ends_with_a_parcel_a_descriptor_or_its_time)
{
    skn_inbox_t *inboxes[3] = { NULL, NULL, NULL };
    skn_parcel_t parcel = { 0 };
    int descriptor = eventfd(0, EFD_NONBLOCK);
    const struct pollfd bell = { descriptor, POLLIN, 0 };
    inboxes[1] = skn_inbox_open("inproc://b", &error);
    skn_outlet_t *outlet = skn_outlet_open("inproc://b", &error);
    cr_assert(inboxes[1] && outlet && descriptor >= 0);
    skn_inbox_wait(inboxes, 3, &bell, 0);
    skn_inbox_wait(inboxes, 3, &bell, 1);
    cr_expect(!skn_inbox_take(inboxes[1], &parcel));
    skn_inbox_wait(inboxes, 3, &bell, 1);
    cr_assert_eq(skn_outlet_put(outlet, &parcel, &error), SKN_OK);
    skn_inbox_wait(inboxes, 3, NULL, -1); /* would wait for ever */
    skn_inbox_look(inboxes[1]);
    cr_expect(skn_inbox_take(inboxes[1], &parcel));
    uint64_t one = 1;
    cr_assert_eq(write(descriptor, &one, sizeof(one)), sizeof(one));
    skn_inbox_wait(inboxes, 3, &bell, -1);
    skn_outlet_close(&outlet);
    skn_inbox_close(&inboxes[1]);
    close(descriptor);
}

Test(pipe, more_sockets_than_the_library_allows_are_refused)
{
    cr_expect_eq(skn_pipes_reserve(1u << 30, &error), SKN_NO_MEMORY);
    cr_expect_eq(error.status, SKN_NO_MEMORY);
    cr_expect(strstr(error.text, "the topology needs 1073741824 sockets"));
    cr_expect_eq(skn_pipes_reserve(500, &error), SKN_OK);
}

/* --- the signals of the host ---------------------------------------------- */

static void
on_signal(int number)
{
    (void)number;
}

Test(pipe, the_handlers_of_the_host_stay)
{
    struct sigaction own, now;
    memset(&own, 0, sizeof(own));
    own.sa_handler = on_signal;
    (void)sigaction(SIGTERM, &own, NULL);
    struct sigaction ignore = own;
    ignore.sa_handler = SIG_IGN;
    (void)sigaction(SIGINT, &ignore, NULL);
    skn_inbox_t *inbox = skn_inbox_open("inproc://signals", &error);
    cr_assert(inbox, "%s", error.text);
    (void)sigaction(SIGTERM, NULL, &now);
    cr_expect_eq(now.sa_handler, on_signal);
    (void)sigaction(SIGINT, NULL, &now);
    cr_expect_eq(now.sa_handler, SIG_IGN);
    skn_inbox_close(&inbox);
}

Test(pipe, handlers_that_a_host_lets_czmq_install_stay)
{
    struct sigaction before, now;
    (void)zsys_init();
    (void)sigaction(SIGINT, NULL, &before);
    cr_assert_neq(before.sa_handler, SIG_DFL);
    skn_inbox_t *inbox = skn_inbox_open("inproc://signals", &error);
    cr_assert(inbox, "%s", error.text);
    (void)sigaction(SIGINT, NULL, &now);
    cr_expect_eq(now.sa_handler, before.sa_handler);
    skn_inbox_close(&inbox);
}

/* --- ends ----------------------------------------------------------------- */

Test(pipe, an_inbox_closes_over_parcels_that_nobody_took)
{
    for (uint32_t round = 0; round < 20; round++) {
        char address[SKN_INBOX_ADDRESS_BYTES]; /* a name is free only later */
        (void)snprintf(address, sizeof(address), "inproc://full%u", round);
        skn_inbox_t *inbox = skn_inbox_open(address, &error);
        skn_outlet_t *outlet = skn_outlet_open(address, &error);
        cr_assert(inbox && outlet, "%s", error.text);
        skn_parcel_t parcel = { .type = round };
        for (uint32_t k = 0; k < 10 * round; k++) {
            parcel.number = k;
            cr_assert_eq(skn_outlet_put(outlet, &parcel, &error), SKN_OK);
        }
        for (uint32_t k = 0; k < round; k++) { /* a part of them is taken */
            cr_assert(skn_inbox_take(inbox, &parcel));
            cr_expect_eq(parcel.number, k);
            cr_expect_eq(parcel.type, round);
        }
        if (round % 2 == 0)
            skn_outlet_close(&outlet);
        skn_inbox_close(&inbox);
        cr_expect_null(inbox);
        skn_outlet_close(&outlet);
        cr_expect_null(outlet);
    }
}

Test(pipe, closing_twice_is_allowed)
{
    skn_inbox_t *inbox = skn_inbox_open("inproc://twice", &error);
    skn_outlet_t *outlet = skn_outlet_open("inproc://twice", &error);
    for (int k = 0; k < 2; k++) {
        skn_inbox_close(&inbox);
        skn_outlet_close(&outlet);
        cr_expect_null(inbox);
        cr_expect_null(outlet);
    }
}

/* Each outlet's own order is kept, and none is starved for good. */
Test(pipe, parcels_of_many_outlets_come_in_the_order_of_each)
{
    skn_outlet_t *outlets[16];
    uint64_t next[16] = { 0 };
    skn_parcel_t parcel;
    skn_inbox_t *inbox = skn_inbox_open("inproc://fair", &error);
    cr_assert(inbox);
    for (uint32_t k = 0; k < 16; k++) {
        outlets[k] = skn_outlet_open("inproc://fair", &error);
        cr_assert(outlets[k]);
        for (uint64_t number = 0; number < 100 + k; number++) {
            parcel = (skn_parcel_t){ .slot = k, .number = number };
            cr_assert_eq(skn_outlet_put(outlets[k], &parcel, &error), SKN_OK);
        }
    }
    while (skn_inbox_take(inbox, &parcel))
        cr_expect_eq(parcel.number, next[parcel.slot]++);
    for (uint32_t k = 0; k < 16; k++) {
        cr_expect_eq(next[k], 100 + k, "outlet %u", k);
        skn_outlet_close(&outlets[k]);
    }
    skn_inbox_close(&inbox);
}

/* All that a parcel has arrives, whatever it is. */
Test(pipe, every_value_of_a_parcel_survives)
{
    static const uint64_t numbers[] = { 0, 1, UINT32_MAX, UINT64_MAX };
    int somewhere = 0;
    skn_inbox_t *inbox = skn_inbox_open("inproc://all", &error);
    skn_outlet_t *outlet = skn_outlet_open("inproc://all", &error);
    for (size_t k = 0; k < 4; k++)
        for (size_t n = 0; n < 4; n++) {
            skn_parcel_t out = { (uint32_t)numbers[k], (uint32_t)numbers[n],
                                 numbers[(k + n) % 4],
                                 n % 2 ? &somewhere : NULL };
            skn_parcel_t in = { 0 };
            cr_assert_eq(skn_outlet_put(outlet, &out, &error), SKN_OK);
            cr_assert(skn_inbox_take(inbox, &in));
            cr_expect(in.type == out.type && in.slot == out.slot &&
                      in.number == out.number && in.pointer == out.pointer);
            cr_expect(!skn_inbox_take(inbox, &in));
        }
    skn_outlet_close(&outlet);
    skn_inbox_close(&inbox);
}

/* --- lots ----------------------------------------------------------------- */

/* The receiver takes some of what waits each time, so that lots are found open,
 * full and closed. */
Test(pipe, parcels_arrive_in_order_whether_their_lot_is_open_or_not)
{
    skn_inbox_t *inbox = skn_inbox_open("inproc://lots", &error);
    skn_outlet_t *outlet = skn_outlet_open("inproc://lots", &error);
    skn_parcel_t parcel = { 0 };
    uint64_t sent = 0, taken = 0;
    cr_assert(inbox && outlet, "%s", error.text);
    for (uint64_t size = 0; size < 200; size++) {
        for (uint64_t k = 0; k < size; k++) {
            parcel.number = sent++;
            cr_assert_eq(skn_outlet_put(outlet, &parcel, &error), SKN_OK);
        }
        for (uint64_t k = 0;
             k <= (size * 7) % 120 && skn_inbox_take(inbox, &parcel); k++)
            cr_expect_eq(parcel.number, taken++);
    }
    while (skn_inbox_take(inbox, &parcel))
        cr_expect_eq(parcel.number, taken++);
    cr_expect_eq(taken, sent);
    skn_outlet_close(&outlet);
    skn_inbox_close(&inbox);
}

/* A lot that was taken in part keeps a wait from sleeping. */
Test(pipe, a_wait_ends_at_once_while_a_lot_is_not_empty)
{
    skn_inbox_t *inbox = skn_inbox_open("inproc://rest", &error);
    skn_outlet_t *outlet = skn_outlet_open("inproc://rest", &error);
    skn_parcel_t parcel = { .number = 1 };
    cr_assert(inbox && outlet, "%s", error.text);
    cr_expect(!skn_inbox_take(inbox, &parcel));
    for (int k = 0; k < 2; k++)
        cr_assert_eq(skn_outlet_put(outlet, &parcel, &error), SKN_OK);
    skn_inbox_wait(&inbox, 1, NULL, -1);
    cr_expect(skn_inbox_take(inbox, &parcel));
    cr_expect(!skn_inbox_is_empty(inbox));
    skn_inbox_wait(&inbox, 1, NULL, -1); /* would wait for ever */
    cr_expect(skn_inbox_take(inbox, &parcel));
    cr_expect(!skn_inbox_take(inbox, &parcel));
    cr_assert_eq(skn_outlet_put(outlet, &parcel, &error), SKN_OK);
    skn_inbox_wait(&inbox, 1, NULL, -1); /* a closed lot takes no parcel */
    cr_expect(skn_inbox_take(inbox, &parcel));
    skn_outlet_close(&outlet);
    skn_inbox_close(&inbox);
}

/* Puts `put` parcels into a lot and takes `taken` of them, then looks once more
 * if `closes`; the address sanitizer finds a lot that is not freed, or freed
 * twice. */
static void
end_with_a_lot(int put, int taken, bool closes, bool outlet_first)
{
    static int serial; /* CZMQ's thread frees an address later */
    char address[64];
    (void)snprintf(address, sizeof(address), "inproc://freed-%d", serial++);
    skn_inbox_t *inbox = skn_inbox_open(address, &error);
    skn_outlet_t *outlet = skn_outlet_open(address, &error);
    skn_parcel_t parcel = { .number = 1 };
    cr_assert(inbox && outlet, "%s", error.text);
    for (int k = 0; k < put; k++)
        cr_assert_eq(skn_outlet_put(outlet, &parcel, &error), SKN_OK);
    skn_inbox_wait(&inbox, 1, NULL, -1);
    for (int k = 0; k < taken; k++)
        cr_expect(skn_inbox_take(inbox, &parcel));
    if (closes)
        cr_expect(!skn_inbox_take(inbox, &parcel));
    if (outlet_first)
        skn_outlet_close(&outlet);
    skn_inbox_close(&inbox);
    skn_outlet_close(&outlet);
}

Test(pipe, a_lot_is_freed_once_whoever_closes_first)
{
    for (int first = 0; first < 2; first++) {
        end_with_a_lot(3, 1, false, first > 0);
        end_with_a_lot(3, 3, false, first > 0);
        end_with_a_lot(3, 3, true, first > 0);
        end_with_a_lot(42, 41, false, first > 0);
        end_with_a_lot(42, 42, true, first > 0);
        end_with_a_lot(1, 1, true, first > 0);
    }
}

/* --- threads -------------------------------------------------------------- */

typedef struct worker {
    uint64_t sum;
    bool was_asked_to_return;
    sigset_t mask;
} worker_t;

/* Adds numbers up until 0, or until anything that is not a parcel. */
static void
add_up(skn_inbox_t *orders, void *argument)
{
    worker_t *worker = argument;
    skn_parcel_t parcel = { .number = 1 };
    (void)pthread_sigmask(SIG_SETMASK, NULL, &worker->mask);
    while (parcel.number > 0 && !worker->was_asked_to_return) {
        skn_inbox_wait(&orders, 1, NULL, -1);
        while (parcel.number > 0 && skn_inbox_take(orders, &parcel)) {
            worker->was_asked_to_return = parcel.type == SKN_PARCEL_FOREIGN;
            worker->sum += parcel.number;
        }
    }
}

Test(pipe, a_thread_takes_its_orders_and_ends)
{
    worker_t worker = { 0 };
    skn_thread_t *thread = skn_thread_new(add_up, &worker, &error);
    cr_assert(thread, "%s", error.text);
    skn_thread_begin(thread);
    for (uint64_t k = 100; k <= 100; k--)
        skn_thread_order(thread, &(skn_parcel_t){ .number = k });
    skn_thread_end(&thread);
    cr_expect_null(thread);
    cr_expect_eq(worker.sum, 5050);
    cr_expect(!worker.was_asked_to_return);
    skn_thread_end(&thread);
}

Test(pipe, a_thread_that_waits_is_asked_to_return)
{
    worker_t worker = { 0 };
    skn_thread_t *thread = skn_thread_new(add_up, &worker, &error);
    cr_assert(thread, "%s", error.text);
    skn_thread_begin(thread);
    skn_thread_order(thread, &(skn_parcel_t){ .number = 7 });
    skn_thread_end(&thread);
    cr_expect(worker.was_asked_to_return);
    cr_expect_eq(worker.sum, 7);
}

Test(pipe, a_thread_leaves_signals_to_the_host)
{
    sigset_t before, after;
    worker_t worker = { 0 };
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    skn_thread_t *thread = skn_thread_new(add_up, &worker, &error);
    cr_assert(thread, "%s", error.text);
    skn_thread_begin(thread);
    skn_thread_end(&thread);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    cr_expect_eq(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
    cr_expect_eq(sigismember(&worker.mask, SIGINT), 1);
    cr_expect_eq(sigismember(&worker.mask, SIGSEGV), 0);
}

static void *
interrupt_often(void *thread)
{
    const pthread_t *host = thread;
    for (int k = 0; k < 2000; k++)
        (void)pthread_kill(*host, SIGUSR1);
    return NULL;
}

/* zactor_destroy returns when a signal arrives; the thread may still run. */
Test(pipe, the_end_of_a_thread_is_awaited_whatever_signals_arrive)
{
    struct sigaction own;
    pthread_t self = pthread_self(), other;
    memset(&own, 0, sizeof(own));
    own.sa_handler = on_signal;
    (void)sigaction(SIGUSR1, &own, NULL);
    cr_assert_eq(pthread_create(&other, NULL, interrupt_often, &self), 0);
    for (uint64_t k = 0; k < 200; k++) {
        worker_t worker = { 0 };
        skn_thread_t *thread = skn_thread_new(add_up, &worker, &error);
        cr_assert(thread, "%s", error.text);
        skn_thread_begin(thread);
        skn_thread_order(thread, &(skn_parcel_t){ .number = k + 1 });
        skn_thread_end(&thread);
        cr_expect_eq(worker.sum, k + 1);
    }
    cr_assert_eq(pthread_join(other, NULL), 0);
}

Test(pipe, a_thread_without_descriptors_left_is_refused)
{
    worker_t worker = { 0 };
    struct rlimit limit;
    cr_assert_eq(skn_pipes_reserve(1, &error), SKN_OK);
    skn_inbox_t *inbox = skn_inbox_open("inproc://first", &error);
    cr_assert(inbox, "%s", error.text);
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    int next = eventfd(0, EFD_CLOEXEC);
    struct rlimit low = { (rlim_t)next, limit.rlim_max };
    (void)close(next);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    cr_expect_null(skn_thread_new(add_up, &worker, &error));
    cr_expect_str_eq(error.text,
                     "cannot create a ZeroMQ socket: Too many open files");
    cr_expect_str_eq(error.hint, "raise the limit on open files (ulimit -n)");
    cr_expect_null(skn_inbox_open("inproc://more", &error));
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    skn_inbox_close(&inbox);
}

/* Topologies that start at once may all have found room. */
Test(pipe, a_socket_that_the_library_does_not_allow_is_refused)
{
    enum {
        MOST = 80
    };
    skn_inbox_t *inboxes[MOST] = { NULL };
    uint32_t open = 0;
    cr_assert_eq(skn_pipes_reserve(1, &error), SKN_OK);
    cr_assert_eq(zmq_ctx_set(zsys_init(), ZMQ_MAX_SOCKETS, MOST), 0);
    for (bool is_open = true; is_open && open < MOST; open += is_open) {
        char address[32];
        (void)snprintf(address, sizeof(address), "inproc://%u", open);
        inboxes[open] = skn_inbox_open(address, &error);
        is_open = inboxes[open] != NULL;
    }
    cr_expect(open > 0 && open < MOST);
    cr_expect_eq(error.status, SKN_NO_MEMORY);
    cr_expect_null(skn_thread_new(add_up, NULL, &error));
    while (open > 0)
        skn_inbox_close(&inboxes[--open]);
    inboxes[0] = skn_inbox_open("inproc://again", &error);
    cr_expect(inboxes[0]);
    skn_inbox_close(&inboxes[0]);
}

static atomic_bool has_ended;

static void *
open_often(void *argument)
{
    skn_error_t own = { 0 };
    (void)argument;
    while (!atomic_load(&has_ended)) {
        skn_inbox_t *inbox = skn_inbox_open("inproc://often", &own);
        skn_inbox_close(&inbox);
    }
    return NULL;
}

/* There are too few descriptors for all of them: CZMQ would end the process. */
Test(pipe, a_start_keeps_its_descriptors_from_other_threads)
{
    pthread_t others[2];
    struct rlimit limit;
    cr_assert_eq(skn_pipes_reserve(1, &error), SKN_OK);
    skn_inbox_t *inbox = skn_inbox_open("inproc://first", &error);
    cr_assert(inbox, "%s", error.text);
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    int next = eventfd(0, EFD_CLOEXEC);
    struct rlimit low = { (rlim_t)next + 4, limit.rlim_max };
    (void)close(next);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    for (int k = 0; k < 2; k++)
        cr_assert_eq(pthread_create(&others[k], NULL, open_often, NULL), 0);
    for (uint64_t k = 0; k < 3000; k++) {
        worker_t worker = { 0 };
        skn_start_lock();
        skn_thread_t *thread = skn_thread_new(add_up, &worker, &error);
        if (thread)
            skn_thread_begin(thread);
        skn_start_unlock();
        skn_thread_end(&thread);
    }
    atomic_store(&has_ended, true);
    for (int k = 0; k < 2; k++)
        cr_assert_eq(pthread_join(others[k], NULL), 0);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    skn_inbox_close(&inbox);
}

/* The system puts them on the stack of each thread. */
static _Thread_local volatile char of_the_host[1 << 20];

Test(pipe, a_host_may_have_much_thread_local_data)
{
    int code = -1;
    of_the_host[1] = 1;
    cr_expect_eq(skn_threads_try(3, &code), 3u);
    cr_expect_eq(code, 0);
}
