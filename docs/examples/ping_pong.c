/* ping_pong.c - two actors hit a ball ten times.
 * SPDX-License-Identifier: Apache-2.0 */
#include <skein/topology.h>

#define FIELDS_ball(F, M) F(M, u64, hits, 100, "how often it was hit")
SKN_MESSAGE_STRUCT(ball, FIELDS_ball)
SKN_MESSAGE_SCHEMA(ball, "ball", 1000, FIELDS_ball, "goes to and fro")

static skn_status_t on_ball(skn_actor_t *actor, void *state,
                            const void *message, skn_error_t *error)
{
    ball_t ball = { message ? ((const ball_t *)message)->hits + 1 : 1 };
    if (ball.hits > 10) {
        skn_actor_finish(actor); /* the pipes end, and with them the other */
        return SKN_OK;
    }
    printf("%s hits %d\n", skn_actor_name(actor), (int)ball.hits);
    return skn_actor_send(actor, &ball_schema, &ball, error);
}
static skn_status_t serve(skn_actor_t *actor, void *state, skn_error_t *error)
{
    return on_ball(actor, state, NULL, error);
}
static const skn_handler_t handlers[] = { { &ball_schema, on_ball }, { 0 } };
static const skn_schema_t *const sends[] = { &ball_schema, NULL };
static const skn_kind_t ping = { .name = "ping", .handlers = handlers,
                                 .sends = sends, .start = serve, .gate = true };
static const skn_kind_t pong = { "pong", .handlers = handlers, .sends = sends };
int main(void)
{
    const skn_kind_t *kinds[] = { &ping, &pong, NULL };
    skn_error_t error = { 0 };
    skn_topology_t *game = skn_topology_new("skein: 1\n"
        "topology: { name: game, actors: [{ name: a, kind: ping },"
        " { name: b, kind: pong }], pipes: [{ from: a, to: b, message: ball },"
        " { from: b, to: a, message: ball }] }", "game", kinds, &error);
    return !game || skn_topology_start(game, NULL, &error) ||
           skn_topology_wait(game, &error);
}
