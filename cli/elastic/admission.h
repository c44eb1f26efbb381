/* admission.h - whom a coordinator lets take part, of those with a key.
 *
 * A member that would train something else is told so at its `hello`: among the
 * others it would end everybody's generation. So is a second process with the
 * key of a member that lives. Whether it does is asked: it has to say `hello`
 * again. Until then, or until its connection has ended or it was silent for so
 * long that it is dead, the second one waits.
 *
 *     member c   coordinator   another c
 *         |           |<-- hello --|
 *         |<-- who ---|            |
 *         |-- hello ->|            |
 *         |           |- refused ->|
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_ADMISSION_H
#define CLI_ELASTIC_ADMISSION_H

#include <jansson.h>
#include <stdbool.h>

#include "topology/elastic/membership.h"
#include "topology/model/model.h"
#include "transport/socket/control.h"

typedef struct cli_admission {
    char *settings; /* of the run: those of the coordinator's file */
    const char *const *names;
    skn_control_t *control;             /* both set by the owner, who has */
    const skn_membership_t *membership; /* them */
    struct cli_admitted {
        char told[SKN_ERROR_TEXT_BYTES + 16]; /* why one is refused */
        uint64_t incarnation;  /* of who is let in; 0: nobody was */
        bool stands;           /* its connection does */
        json_t *waiting;       /* the hello of another one, or NULL */
        uint64_t asked_ns;     /* when who is let in was asked */
        uint64_t complaint_ns; /* the newest */
    } member[SKN_CLUSTER_NODES_MAX];
} cli_admission_t;

/* Zeroed before; closed in any case. `names` must outlive it. SKN_NO_MEMORY. */
skn_status_t cli_admission_init(cli_admission_t *admission,
                                const skn_model_t *model,
                                const char *const *names, skn_error_t *error);
void cli_admission_fini(cli_admission_t *admission);

/* Whether a message is the member's. Else what has to be answered was; and if
 * somebody is refused for what people have not been told yet, *news says it. */
bool cli_admission_take(cli_admission_t *admission,
                        const skn_control_arrival_t *arrival,
                        const json_t *message, uint64_t now_ns,
                        const char **news);
/* Whether people may be told of another message of `member` that says nothing:
 * once a second. */
bool cli_admission_complains(cli_admission_t *admission, uint32_t member,
                             uint64_t now_ns);
/* The connection of who is let in has ended. */
void cli_admission_lost(cli_admission_t *admission, uint32_t member);
/* A hello that has waited and is let in now, of *member: the caller's to
 * release. NULL: none. */
json_t *cli_admission_next(cli_admission_t *admission, uint64_t now_ns,
                           uint32_t *member);

/* What the order `refused` says, of who hears it. */
void cli_admission_refused(const json_t *order, skn_error_t *error);

#endif
