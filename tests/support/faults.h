/* faults.h - makes the n-th allocation or system call of a test fail.
 *
 * A program that links tests/support/faults.c with --wrap for the functions
 * below (skn_faults in CMakeLists.txt) runs an operation once to count its
 * calls, then again and again with one of them failing. In no case may the
 * operation leak: memory that it allocated is counted, and so are descriptors.
 * Calls inside the libraries that Skein uses are not wrapped and never fail.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_FAULTS_H
#define TESTS_SUPPORT_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fault_kind {
    FAULT_MEMORY, /* malloc, calloc, realloc, strdup, asprintf, ... */
    FAULT_SYSTEM, /* open, read, write, sync, rename, ... fail with `code` */
    FAULT_SHORT,  /* reads and writes do half of what they are asked */
    FAULT_SIGNAL, /* reads, writes and locks are interrupted: EINTR */
    FAULT_KIND_COUNT
} fault_kind_t;

/* Counts the calls of `kind` from now on; the n-th (from 1) fails, and every
 * later one too if `forever`. n 0: none fails. Threads are counted together. */
void faults_arm(fault_kind_t kind, uint64_t n, int code, bool forever);
/* Between the two, calls are neither counted nor do they fail. */
void faults_pause(bool paused);
/* Nothing fails any more. How many calls were counted. */
uint64_t faults_disarm(void);
/* How many calls failed since arm, and the name of the first that did. */
uint64_t faults_hit(void);
const char *faults_hit_name(void);

/* Blocks that our code took since the last arm and has not given back. */
size_t faults_blocks_live(void);

#endif
