/* ping_pong.c - two actors hit a ball ten times; in C and in C++.
 * SPDX-License-Identifier: Apache-2.0 */
#include <skein/topology.h>

#define FIELDS_ball(F, M) F(M, u64, hits, 100, "how often it was hit")
SKN_MESSAGE_STRUCT(ball, FIELDS_ball)
SKN_MESSAGE_SCHEMA(ball, "ball", 1000, FIELDS_ball, "goes to and fro")

static skn_status_t hit(skn_actor_t *actor, void *state, const void *message,
                        skn_error_t *error)
{
    ball_t ball = { message ? ((const ball_t *)message)->hits + 1 : 1 };
    (void)state;
    if (ball.hits > 10) /* the pipes end, and with them the other actor */
        return skn_actor_finish(actor), SKN_OK;
    printf("%s hits %d\n", skn_actor_name(actor), (int)ball.hits);
    return skn_actor_send(actor, &ball_schema, &ball, error);
}
static skn_status_t serve(skn_actor_t *actor, void *state, skn_error_t *error)
{
    return hit(actor, state, NULL, error);
}
static const skn_handler_t takes[] = { { &ball_schema, hit, NULL }, SKN_ZERO };
static const skn_schema_t *const sends[] = { &ball_schema, NULL };
#define BOTH SKN_SET(handlers, takes) SKN_SET(sends, sends)
static const skn_kind_t pong = SKN_KIND(SKN_SET(name, "pong") BOTH);
static const skn_kind_t ping = SKN_KIND(SKN_SET(name, "ping") BOTH
    SKN_SET(start, serve) SKN_SET(gate, true));
int main(void)
{
    const skn_kind_t *kinds[] = { &ping, &pong, NULL };
    skn_error_t error = SKN_ZERO;
    skn_topology_t *game = skn_topology_new("skein: 1\n"
        "topology: { name: game, actors: [{ name: a, kind: ping },"
        " { name: b, kind: pong }], pipes: [{ from: a, to: b, message: ball },"
        " { from: b, to: a, message: ball }] }", "game", kinds, &error);
    return !game || skn_topology_start(game, NULL, &error) ||
           skn_topology_wait(game, &error);
}
