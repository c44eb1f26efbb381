/* trace.c - records what an actor does in a ring and writes it as JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/trace.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NO_BATCH UINT64_MAX

typedef struct record {
    skn_trace_type_t type;
    uint32_t duration_ns; /* a span of 4 s or more is shown as shorter */
    const char *name;
    uint64_t at_ns;
    uint64_t number; /* span: the batch; flow: edge << 32 | sequence */
} record_t;

_Static_assert(sizeof(record_t) * SKN_TRACE_RECORDS == 1u << 20,
               "the records of an actor take 1 MiB");

struct skn_trace {
    uint64_t added; /* in total; the ring holds the last SKN_TRACE_RECORDS */
    record_t record[SKN_TRACE_RECORDS];
};

skn_trace_t *
skn_trace_new(skn_error_t *error)
{
    skn_trace_t *trace = calloc(1, sizeof(*trace));
    if (!trace)
        skn_fail(error, SKN_NO_MEMORY, "no memory for a trace of %zu bytes",
                 sizeof(*trace));
    return trace;
}

void
skn_trace_destroy(skn_trace_t **trace)
{
    free(*trace);
    *trace = NULL;
}

static record_t *
next_record(skn_trace_t *trace)
{
    return &trace->record[trace->added++ % SKN_TRACE_RECORDS];
}

static uint64_t
batch_of(const skn_schema_t *schema, const void *message)
{
    for (size_t k = 0; schema && message && k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        if (field->kind == SKN_FIELD_u64 && strcmp(field->name, "batch") == 0)
            return *(const uint64_t *)((const char *)message + field->offset);
    }
    return NO_BATCH;
}

void
skn_trace_span(skn_trace_t *trace, const char *name, uint64_t begin_ns,
               uint64_t end_ns, const skn_schema_t *schema, const void *message)
{
    if (!trace)
        return;
    uint64_t duration_ns = end_ns - begin_ns;
    *next_record(trace) = (record_t){
        .type = schema ? SKN_TRACE_HANDLE : SKN_TRACE_HOOK,
        .duration_ns =
            duration_ns < UINT32_MAX ? (uint32_t)duration_ns : UINT32_MAX,
        .name = name,
        .at_ns = begin_ns,
        .number = batch_of(schema, message),
    };
}

void
skn_trace_flow(skn_trace_t *trace, skn_trace_type_t type, uint64_t at_ns,
               const char *name, uint64_t edge, uint64_t sequence)
{
    if (!trace)
        return;
    *next_record(trace) = (record_t){
        .type = type,
        .name = name,
        .at_ns = at_ns,
        .number = edge << 32 | (sequence & UINT32_MAX),
    };
}

static void
write_record(const record_t *record, FILE *file, uint32_t process,
             uint32_t number, uint64_t origin_ns)
{
    double at_us = (double)(int64_t)(record->at_ns - origin_ns) / 1e3;
    if (record->type == SKN_TRACE_HANDLE || record->type == SKN_TRACE_HOOK) {
        skn_text_print(
            file,
            "{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%u,"
            "\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f",
            record->name, record->type == SKN_TRACE_HANDLE ? "handler" : "hook",
            process, number, at_us, (double)record->duration_ns / 1e3);
        if (record->number != NO_BATCH)
            fprintf(file, ",\"args\":{\"batch\":%" PRIu64 "}", record->number);
        fputs("},\n", file);
        return;
    }
    bool is_send = record->type == SKN_TRACE_SEND;
    skn_text_print(
        file,
        "{\"ph\":\"%s\",\"name\":\"%s\",\"cat\":\"message\",\"pid\":%u,"
        "\"tid\":%u,\"ts\":%.3f,\"id\":%" PRIu64 "%s},\n",
        is_send ? "s" : "f", record->name, process, number, at_us,
        record->number, is_send ? "" : ",\"bp\":\"e\"");
}

void
skn_trace_write(const skn_trace_t *trace, FILE *file, uint32_t process,
                uint32_t number, const char *name, uint64_t origin_ns)
{
    fprintf(file,
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,"
            "\"args\":{\"name\":\"%s\"}},\n",
            process, number, name);
    uint64_t kept =
        trace->added < SKN_TRACE_RECORDS ? trace->added : SKN_TRACE_RECORDS;
    for (uint64_t k = trace->added - kept; k < trace->added; k++)
        write_record(&trace->record[k % SKN_TRACE_RECORDS], file, process,
                     number, origin_ns);
}
