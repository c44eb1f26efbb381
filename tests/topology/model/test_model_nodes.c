/* test_model_nodes.c - tests nodes and links of a model file. Covers
 * topology/model/model_nodes.c and the nodes and cores of
 * topology/model/model_forms.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/model_fixture.h"

#define TWO                                                                    \
    "nodes:\n"                                                                 \
    "  - { name: a, address: 'tcp://127.0.0.1:7001' }\n"                       \
    "  - { name: b, address: 'tcp://127.0.0.1:7002' }\n"

/* --- what is read -------------------------------------------------------- */

Test(model_nodes, a_file_without_nodes_has_none)
{
    skn_model_t *model = fixture_good(FIXTURE);
    cr_expect_eq(model->node_count, 0u);
    cr_expect_eq(model->links.coding, SKN_LINK_CODING_AUTO);
    cr_expect_eq(model->links.rate, 1e9);
    skn_model_destroy(&model);
}

Test(model_nodes, every_field_of_a_node_is_read)
{
    skn_model_t *model = fixture_good(
        FIXTURE "nodes:\n"
                "  - { name: a, address: 'tcp://10.77.0.1:7001', key: a.key,\n"
                "      cores: 2, memory: 8GiB }\n"
                "  - { name: b, address: 'tcp://10.77.0.2:7001', key: b.key,\n"
                "      cores: [4, 1], ssh: worker2, speed: .5, notice: 30 }\n"
                "  - { name: c-3, address: 'tcp://c:7001', key: /k/c.key,\n"
                "      cores: 2-4 }\n"
                "links: { coding: int8, rate: 1.0e8 }\n");
    cr_assert_eq(model->node_count, 3u);
    const skn_model_node_t *a = &model->nodes[0], *b = &model->nodes[1];
    const skn_model_node_t *c = &model->nodes[2];
    cr_expect_str_eq(a->name, "a");
    cr_expect_str_eq(a->address, "tcp://10.77.0.1:7001");
    cr_expect_str_eq(a->key, "a.key");
    cr_expect_str_eq(a->ssh, "");
    cr_expect_eq(a->cores.limit, 2);
    cr_expect_eq(a->cores.count, 0u);
    cr_expect_eq(a->memory_bytes, INT64_C(8) << 30);
    cr_expect_str_eq(b->ssh, "worker2");
    cr_expect_eq(b->memory_bytes, SKN_AUTO);
    cr_expect_eq(b->speed, 0.5);
    cr_expect_eq(b->notice_s, 30);
    cr_expect_eq(a->speed, 1);
    cr_expect_eq(a->notice_s, 0);
    cr_expect_eq(b->cores.limit, SKN_AUTO);
    cr_assert_eq(b->cores.count, 2u);
    cr_expect(b->cores.list[0] == 4 && b->cores.list[1] == 1);
    cr_expect_str_eq(c->name, "c-3");
    cr_expect_str_eq(c->key, "/k/c.key");
    cr_assert_eq(c->cores.count, 3u);
    for (uint32_t k = 0; k < 3; k++)
        cr_expect_eq(c->cores.list[k], 2 + k);
    cr_expect_eq(model->links.coding, SKN_LINK_CODING_INT8);
    cr_expect_eq(model->links.rate, 1e8);
    skn_model_destroy(&model);
}

Test(model_nodes, the_fields_of_a_node_have_defaults)
{
    skn_model_t *model = fixture_good(FIXTURE "nodes: [{ name: only }]\n");
    cr_assert_eq(model->node_count, 1u);
    cr_expect_str_eq(model->nodes[0].address, "");
    cr_expect_str_eq(model->nodes[0].key, "");
    cr_expect_eq(model->nodes[0].cores.limit, SKN_AUTO);
    cr_expect_eq(model->nodes[0].cores.count, 0u);
    cr_expect_eq(model->nodes[0].memory_bytes, SKN_AUTO);
    skn_model_destroy(&model);
}

/* -o nodes.b.cores=2 and the like go through the same checker. */
static skn_model_t *
read_with(const char *assignment, char said[512])
{
    skn_error_t error = { 0 };
    skn_model_t *model = NULL;
    skn_problems_t *problems = skn_problems_new(&error);
    skn_document_t *document = skn_document_parse(
        FIXTURE TWO, strlen(FIXTURE TWO), "m.yaml", problems);
    cr_assert_not_null(document);
    (void)skn_document_set(document, assignment, problems);
    (void)skn_model_check(document, &model, problems, &error);
    (void)snprintf(said, 512, "%s",
                   model ? "" : skn_problems_text(problems, 0));
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    return model;
}

Test(model_nodes, overrides_reach_nodes_by_name_and_links)
{
    char said[512];
    skn_model_t *model = read_with("nodes.b.cores=2", said);
    cr_assert_not_null(model, "%s", said);
    cr_expect_eq(model->nodes[0].cores.limit, SKN_AUTO);
    cr_expect_eq(model->nodes[1].cores.limit, 2);
    skn_model_destroy(&model);
    model = read_with("links.coding=int8", said);
    cr_assert_not_null(model, "%s", said);
    cr_expect_eq(model->links.coding, SKN_LINK_CODING_INT8);
    skn_model_destroy(&model);
    model = read_with("nodes=[]", said);
    cr_assert_not_null(model, "%s", said);
    cr_expect_eq(model->node_count, 0u);
    skn_model_destroy(&model);
    model = read_with("nodes=[{ name: x, cores: 1-3 }]", said);
    cr_assert_not_null(model, "%s", said);
    cr_expect_eq(model->node_count, 1u);
    cr_expect_eq(model->nodes[0].cores.count, 3u);
    skn_model_destroy(&model);
    cr_expect_null(read_with("nodes.b.cores=0", said));
    cr_expect_str_eq(said, "-o nodes.b.cores=0: 'cores' of node 'b' must be "
                           "auto, a number in 1..4096, a range such as 0-3 or "
                           "a list of numbers, found '0'");
    cr_expect_null(read_with("links.coding=int3", said));
    cr_expect_str_eq(said, "-o links.coding=int3: option 'coding' of links "
                           "must be one of auto, f32, bf16, int8, int4, found "
                           "'int3'");
    cr_expect_null(read_with("nodes.b.address=tcp://10.0.0.9:1", said));
    cr_expect_str_eq(said, "m.yaml:8:5: node 'a' has no key, and "
                           "node 'b' is at tcp://10.0.0.9:1, beyond this "
                           "machine, where links need CURVE");
}

/* --- what is refused ----------------------------------------------------- */

typedef struct refusal {
    const char *text, *want;
} refusal_t;

#define CORES(found)                                                           \
    "'cores' of node 'a' must be auto, a number in 1..4096, a range such as "  \
    "0-3 or a list of numbers, found '" found "'\n"
static const refusal_t refusals[] = {
    { "nodes: a\n",
      "m.yaml:7:8: 'nodes' must be a list of nodes, found 'a'\n" },
    { "nodes: [a]\n", "m.yaml:7:9: node 1 must be a mapping, found 'a'\n" },
    { "nodes: [{ cores: 1 }]\n",
      "m.yaml:7:9: option 'name' of node 1 is missing; name: name of the node, "
      "for overrides, `skein node` and reports\n" },
    { "nodes: [{ name: a, adress: x }]\n",
      "m.yaml:7:20: unknown option 'adress' of node 'a'; did you mean "
      "'address'?\n" },
    { "nodes: [{ name: '1a' }]\n",
      "m.yaml:7:17: '1a' is not a valid node name; use a letter, "
      "then letters, digits, '_' and '-', 64 at most\n" },
    { "nodes: [{ name: a, cores: 0 }]\n", "m.yaml:7:27: " CORES("0") },
    { "nodes: [{ name: a, cores: 4-2 }]\n", "m.yaml:7:27: " CORES("4-2") },
    { "nodes: [{ name: a, cores: -2 }]\n", "m.yaml:7:27: " CORES("-2") },
    { "nodes: [{ name: a, cores: 1- }]\n", "m.yaml:7:27: " CORES("1-") },
    { "nodes: [{ name: a, cores: 1-4096 }]\n",
      "m.yaml:7:27: " CORES("1-4096") },
    { "nodes: [{ name: a, cores: '1-2' }]\n", "m.yaml:7:27: " CORES("1-2") },
    { "nodes: [{ name: a, cores: 00000000000000001-2 }]\n",
      "m.yaml:7:27: " CORES("00000000000000001-2") },
    { "nodes: [{ name: a, memory: 8GB }]\n",
      "m.yaml:7:28: option 'memory' of node 'a' must be an integer or a "
      "size such as 8GiB or auto, found '8GB'\n" },
    { "nodes: [{ name: a }, { name: b }]\n",
      "m.yaml:7:9: node 'a' has no address; give tcp://host:port as the other "
      "nodes reach it, for example tcp://10.0.0.1:7001\n"
      "m.yaml:7:22: node 'b' has no address; give tcp://host:port as the "
      "other nodes reach it, for example tcp://10.0.0.1:7001\n" },
    { "nodes: [{ name: a }, { name: a }]\n",
      "m.yaml:7:9: node 'a' has no address; give tcp://host:port as the other "
      "nodes reach it, for example tcp://10.0.0.1:7001\n"
      "m.yaml:7:22: node 'a' has no address; give tcp://host:port as the "
      "other nodes reach it, for example tcp://10.0.0.1:7001\n"
      "m.yaml:7:30: there are two nodes named 'a'\n" },
    { "links: { rate: 0 }\n",
      "m.yaml:7:16: option 'rate' of links must be in 1000..1e+12, found "
      "'0'\n" },
    { TWO "resources: { cores: 2, memory: 1GiB }\n",
      "m.yaml:10:21: 'cores' of resources has no effect beside 'nodes'; each "
      "node has its own 'cores'\n" },
    { "nodes: [{ name: a, address: 'tcp://127.0.0.1:7001', key: a },\n"
      "        { name: b, address: 'tcp://10.0.0.2:7002', key: b }]\n"
      "resources: { memory: 1GiB }\n",
      "m.yaml:9:22: 'memory' of resources has no effect beside 'nodes'; each "
      "node has its own 'memory'\n" },
    { "nodes: [{ name: a, speed: 0, notice: -1 }]\n",
      "m.yaml:7:27: option 'speed' of node 'a' must be in 0.001..1000, found "
      "'0'\n"
      "m.yaml:7:38: option 'notice' of node 'a' must be in 0..86400, found "
      "'-1'\n" },
    { TWO "coordinator: { address: 'tcp://127.0.0.1:7000' }\n",
      "m.yaml:10:14: the coordinator has no key; give one to each: skein "
      "keygen NAME.key\n" },
    { TWO "coordinator: { address: 'tcp://127.0.0.1:7000', least: 3 }\n",
      "m.yaml:10:14: the coordinator has no key; give one to each: skein "
      "keygen NAME.key\n"
      "m.yaml:10:56: at least 3 nodes are required, but only 2 are "
      "listed; set 'least' to no more than that, or list more nodes\n" },
    { "nodes: [{ name: a, address: 'tcp://127.0.0.1:7001', leaves: true },\n"
      "        { name: b, address: 'tcp://127.0.0.1:7002' }]\n",
      "m.yaml:7:61: node 'a' is the first, which leads, but it leaves; list "
      "the "
      "nodes that leave after those that stay\n" },
    { "nodes: [{ name: a, address: 'tcp://127.0.0.1:7001' },\n"
      "        { name: b, address: 'tcp://127.0.0.1:7002', leaves: true },\n"
      "        { name: c, address: 'tcp://127.0.0.1:7003' }]\n",
      "m.yaml:9:17: node 'c' is listed after one that leaves; list the nodes "
      "that leave after those that stay\n" },
    { "links: { coding: bf16 }\ntrain: { reduction: fixed }\n",
      "m.yaml:7:18: 'reduction: fixed' promises the same bits for any number "
      "of nodes, which this coding rounds; set 'coding: f32', or leave it "
      "auto\n" },
};

Test(model_nodes, each_mistake_has_its_sentence)
{
    for (size_t k = 0; k < sizeof(refusals) / sizeof(refusals[0]); k++) {
        char text[1024];
        (void)snprintf(text, sizeof(text), "%s%s", FIXTURE, refusals[k].text);
        fixture_refused(text, refusals[k].want);
    }
}

Test(model_nodes, a_fixed_reduction_takes_what_rounds_nothing)
{
    skn_model_t *model = fixture_good(
        FIXTURE "links: { coding: f32 }\ntrain: { reduction: fixed }\n");
    skn_model_destroy(&model);
    model = fixture_good(FIXTURE "train: { reduction: fixed }\n");
    skn_model_destroy(&model);
}

Test(model_nodes, there_may_be_as_many_as_sixty_four)
{
    for (unsigned count = 64; count <= 65; count++) {
        char text[8192] = FIXTURE "nodes:\n";
        for (unsigned k = 0; k < count; k++) {
            size_t used = strlen(text);
            (void)snprintf(text + used, sizeof(text) - used,
                           "  - { name: n%u, address: 'tcp://localhost:%u' }\n",
                           k, 7000 + k);
        }
        if (count == 65) {
            fixture_refused(text, "m.yaml:8:3: 65 nodes, at most 64 allowed\n");
            continue;
        }
        skn_model_t *model = fixture_good(text);
        cr_expect_eq(model->node_count, 64u);
        cr_expect_str_eq(model->nodes[63].name, "n63");
        skn_model_destroy(&model);
    }
}
