/* plugin_words.c - a plug-in for test_spec.c, with one kind that needs no
 * pipes.
 *
 * PLUGIN_VERSION 0 leaves out the symbol that makes it a plug-in.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/actor.h"

static skn_status_t
produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    (void)actor, (void)state, (void)error;
    return SKN_OK;
}

static const skn_kind_t plugged =
    SKN_KIND(.name = "plugged", .produce = produce);
static const skn_kind_t *const kinds[] = { &plugged, NULL };

#if PLUGIN_VERSION > 0
SKN_API extern const skn_plugin_t skn_plugin;
const skn_plugin_t skn_plugin = { .version = PLUGIN_VERSION, .kinds = kinds };
#else
SKN_API extern const skn_kind_t *const *const skn_other;
const skn_kind_t *const *const skn_other = kinds;
#endif
