/* test_abi.c - tests the version, and that structs of the public headers have
 * the sizes that programs were compiled with.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "formats/text/abi.h"
#include "skein/config.h"
#include "skein/convert.h"
#include "skein/evaluation.h"
#include "skein/generator.h"
#include "skein/inspection.h"
#include "skein/join.h"
#include "skein/member.h"
#include "skein/points.h"
#include "skein/predictor.h"
#include "skein/topology.h"
#include "skein/version.h"

Test(abi, the_version_is_the_same_as_number_and_as_text)
{
    char text[32];
    uint32_t version = skn_version();
    (void)snprintf(text, sizeof(text), "%u.%u.%u", version / 10000,
                   version / 100 % 100, version % 100);
    cr_expect_str_eq(text, SKN_VERSION_TEXT);
    cr_expect_eq(version, (uint32_t)SKN_VERSION);
}

/* Frozen while the SONAME is libskein-core.so.0: programs have arrays of these,
 * or allocate them, and nothing tells the library their size. With a change of
 * one the SONAME, and SKN_PLUGIN_VERSION, change. */
#define FROZEN(S)                                                              \
    S(skn_option_t, 56)                                                        \
    S(skn_handler_t, 24)                                                       \
    S(skn_timer_t, 24)                                                         \
    S(skn_parts_t, 32)                                                         \
    S(skn_plugin_t, 16)                                                        \
    S(skn_field_t, 40)                                                         \
    S(skn_coded_field_t, 40)                                                   \
    S(skn_schema_t, 56)                                                        \
    S(skn_bytes_t, 16)                                                         \
    S(skn_error_t, 772)                                                        \
    S(skn_clock_t, 48)                                                         \
    S(skn_points_t, 32)                                                        \
    S(skn_scores_t, 64)                                                        \
    S(skn_token_choice_t, 32)                                                  \
    S(skn_generated_t, 24)                                                     \
    S(skn_names_t, 16)                                                         \
    S(skn_inspection_folder_t, 16)                                             \
    S(skn_inspection_piece_t, 40)
/* These begin with their size and may grow at the end. They never become
 * smaller, and a new member may not hide in the padding at the end: its size is
 * how the library knows that it is there. */
#define SIZED(S)                                                               \
    S(skn_kind_t, 160)                                                         \
    S(skn_start_options_t, 136)                                                \
    S(skn_evaluation_options_t, 16)                                            \
    S(skn_evaluation_t, 7336)                                                  \
    S(skn_convert_options_t, 64)                                               \
    S(skn_converted_t, 264)                                                    \
    S(skn_join_options_t, 12)                                                  \
    S(skn_joined_t, 144)                                                       \
    S(skn_point_reader_options_t, 16)                                          \
    S(skn_read_t, 136)                                                         \
    S(skn_inspection_info_t, 184)                                              \
    S(skn_inspection_checkpoint_t, 72)                                         \
    S(skn_inspection_tensor_t, 64)                                             \
    S(skn_coordinator_options_t, 32)                                           \
    S(skn_coordinator_info_t, 48)                                              \
    S(skn_member_options_t, 56)                                                \
    S(skn_member_info_t, 56)                                                   \
    S(skn_predictor_info_t, 112)                                               \
    S(skn_actor_info_t, 136)                                                   \
    S(skn_config_options_t, 40)                                                \
    S(skn_config_problem_t, 40)                                                \
    S(skn_config_info_t, 144)

Test(abi, structs_have_the_sizes_of_this_soname)
{
    if (sizeof(void *) != 8)
        return;
#define S(type, bytes) cr_expect_eq(sizeof(type), (size_t)(bytes), #type);
    FROZEN(S)
    SIZED(S)
#undef S
#define S(type, bytes) cr_expect_eq(offsetof(type, struct_bytes), 0u, #type);
    SIZED(S)
#undef S
}

Test(abi, another_size_is_refused_with_one_sentence)
{
    skn_error_t error = { 0 };
    cr_expect_eq(skn_abi_check("here", 8, 8, "SKN_MACRO", &error), SKN_OK);
    for (size_t bytes = 0; bytes < 20; bytes++)
        if (bytes != 8)
            cr_expect_eq(skn_abi_check("here", bytes, 8, "SKN_MACRO", &error),
                         SKN_USAGE);
    cr_expect_str_eq(
        error.text,
        "here: struct_bytes is 19, and must be 8 in Skein " SKN_VERSION_TEXT
        ": initialise it with SKN_MACRO, and "
        "compile with the headers of this library");
}

Test(abi, macros_set_the_size_and_leave_the_rest_zero)
{
    skn_kind_t kind = SKN_KIND(.name = "k", .gate = true);
    skn_kind_t same = SKN_KIND(SKN_SET(name, "k") SKN_SET(gate, true));
    skn_start_options_t options = SKN_START_OPTIONS();
    skn_start_options_t node = SKN_START_OPTIONS(SKN_SET(node, 1));
    cr_expect_eq(kind.struct_bytes, sizeof(kind));
    cr_expect(kind.gate && same.gate && !kind.open && !same.restarts);
    cr_expect_eq(options.struct_bytes, sizeof(options));
    cr_expect(options.node == 0 && node.node == 1 && !node.run_id);
}
