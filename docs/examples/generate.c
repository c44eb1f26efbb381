/* generate.c - continues a text with a trained decoder: 100 tokens, each the
 * likeliest one, or fewer if the document ends.
 * cc generate.c $(pkg-config --cflags --libs skein) -o generate
 * ./generate RUN PROMPT
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include <skein/generator.h>

int
main(int count, char **words)
{
    skn_error_t error = SKN_ZERO;
    skn_token_choice_t choice = SKN_ZERO; /* temperature 0 */
    skn_generated_t token = SKN_ZERO;
    uint64_t tokens = 0, dropped = 0;
    const char *prompt = count > 2 ? words[2] : "";
    skn_generator_t *generator =
        skn_generator_open(count > 1 ? words[1] : NULL, NULL, &error);
    skn_status_t status = error.status;
    if (generator)
        status = skn_generator_prompt(generator, prompt, strlen(prompt),
                                      &tokens, &dropped, &error);
    for (int k = 0; k < 100 && status == SKN_OK && !token.is_end; k++) {
        status = skn_generator_next(generator, &choice, &token, &error);
        if (status == SKN_OK)
            fwrite(token.text, 1, token.bytes, stdout);
    }
    skn_generator_close(&generator);
    if (status == SKN_OK)
        printf("\n");
    else
        fprintf(stderr, "%s\n", error.text);
    return skn_status_exit_code(status);
}
