/* test_talk.c - what coordinator and members say, and what they believe.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/talk.h"

static json_t *
read_text(const char *text, skn_error_t *error)
{
    const skn_frame_t frame = { text, strlen(text) };
    return cli_talk_read(frame, error);
}

Test(talk, an_object_is_read)
{
    skn_error_t error = { 0 };
    json_t *message =
        read_text("{\"say\":\"pulse\",\"batch\":12,\"x\":-4}", &error);
    cr_assert_not_null(message);
    cr_assert_str_eq(cli_talk_text(message, "say"), "pulse");
    cr_assert_str_eq(cli_talk_text(message, "batch"), "", "no text");
    cr_assert_eq(cli_talk_number(message, "batch"), 12);
    cr_assert_eq(cli_talk_number(message, "x"), 0, "less than nothing");
    cr_assert_eq(cli_talk_number(message, "nothing"), 0);
    json_decref(message);
}

Test(talk, what_is_no_object_is_refused)
{
    static const char *const texts[] = {
        "", "[]", "1", "{", "{\"a\":1}x", "{\"a\":1,\"a\":2}", "\xff\xfe"
    };
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        skn_error_t error = { 0 };
        cr_assert_null(read_text(texts[k], &error), "%s", texts[k]);
        cr_assert_eq(error.status, SKN_BAD_MESSAGE);
    }
}

#define SEAL "0123456789abcdef0123456789abcdef"

static skn_status_t
take(const char *checkpoints, skn_held_t **list, size_t *count)
{
    char text[4096];
    skn_error_t error = { 0 };
    (void)snprintf(text, sizeof(text), "{\"checkpoints\":%s}", checkpoints);
    json_t *message = read_text(text, &error);
    cr_assert_not_null(message, "%s", text);
    skn_status_t status = cli_talk_take_holds(message, list, count, &error);
    json_decref(message);
    return status;
}

Test(talk, what_is_held_is_read)
{
    skn_held_t *list = NULL;
    size_t count = 0;
    cr_assert_eq(take("[{\"batch\":40,\"layout\":3,\"seal\":\"" SEAL
                      "\",\"run\":\"" SEAL "\",\"finished\":true,\"files\":"
                      "[[\"a.safetensors\",true],[\"b.safetensors\",false]]}]",
                      &list, &count),
                 SKN_OK);
    cr_assert_eq(count, 1);
    cr_assert_eq(list[0].batch, 40);
    cr_assert_eq(list[0].generation, 3);
    cr_assert(list[0].finished);
    cr_assert_str_eq(list[0].run_id, SEAL);
    cr_assert_eq(list[0].file_count, 2);
    cr_assert(list[0].file[0].here);
    cr_assert_not(list[0].file[1].here);
    cr_assert_str_eq(list[0].file[1].name, "b.safetensors");
    skn_held_free(&list, count);
}

Test(talk, nothing_is_held_by_who_says_nothing)
{
    skn_held_t *list = NULL;
    size_t count = 7;
    cr_assert_eq(take("[]", &list, &count), SKN_OK);
    cr_assert_eq(count, 0);
    skn_held_free(&list, count);
}

Test(talk, what_no_member_says_is_refused)
{
    static const char *const lists[] = {
        "[{}]",
        "[1]",
        "[{\"batch\":1,\"seal\":\"short\"}]",
        "[{\"batch\":1,\"seal\":\"" SEAL SEAL "\"}]",
        "[{\"batch\":1,\"seal\":\"" SEAL "\",\"run\":\"" SEAL SEAL "\"}]",
        "[{\"batch\":1,\"seal\":\"" SEAL "\",\"files\":[[]]}]",
        "[{\"batch\":1,\"seal\":\"" SEAL "\",\"files\":[[5,true]]}]",
        "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]",
    };
    for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
        skn_held_t *list = NULL;
        size_t count = 0;
        cr_assert_eq(take(lists[k], &list, &count), SKN_BAD_MESSAGE, "%s",
                     lists[k]);
        cr_assert_eq(count, 0);
        skn_held_free(&list, count);
    }
}
