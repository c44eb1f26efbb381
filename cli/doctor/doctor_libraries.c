/* doctor_libraries.c - gets the versions of libraries from the libraries.
 *
 * The doctor examines everything, so this file may include what cli/ must not.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_libraries.h"

#include <czmq.h>
#include <hwloc.h>
#include <jansson.h>
#include <libfyaml.h>
#include <msgpack.h>
#include <nettle/version.h>
#include <sodium.h>
#include <stdio.h>
#include <xxhash.h>
#include <utf8proc.h>
#include <zlib.h>
#include <zmq.h>
#include <zstd.h>

#include "kernels/kernels.h"

#define VERSION_BYTES sizeof(((cli_library_t *)0)->version)

static void
put(cli_library_t *library, const char *name, const char *version,
    const char *compiled)
{
    library->name = name;
    (void)snprintf(library->version, VERSION_BYTES, "%s", version);
    (void)snprintf(library->compiled, VERSION_BYTES, "%s", compiled);
}

static void
put_numbers(cli_library_t *library, const char *name, const int version[3],
            const int compiled[3])
{
    library->name = name;
    (void)snprintf(library->version, VERSION_BYTES, "%d.%d.%d", version[0],
                   version[1], version[2]);
    (void)snprintf(library->compiled, VERSION_BYTES, "%d.%d.%d", compiled[0],
                   compiled[1], compiled[2]);
}

static void
put_zmq(cli_library_t *library)
{
    int version[3];
    const int compiled[3] = { ZMQ_VERSION_MAJOR, ZMQ_VERSION_MINOR,
                              ZMQ_VERSION_PATCH };
    zmq_version(&version[0], &version[1], &version[2]);
    put_numbers(library, "libzmq", version, compiled);
}

static void
put_czmq(cli_library_t *library)
{
    int version[3];
    const int compiled[3] = { CZMQ_VERSION_MAJOR, CZMQ_VERSION_MINOR,
                              CZMQ_VERSION_PATCH };
    zsys_version(&version[0], &version[1], &version[2]);
    put_numbers(library, "czmq", version, compiled);
}

static void
put_xxhash(cli_library_t *library)
{
    int number = (int)XXH_versionNumber(), built = XXH_VERSION_NUMBER;
    const int version[3] = { number / 10000, number / 100 % 100, number % 100 };
    const int compiled[3] = { built / 10000, built / 100 % 100, built % 100 };
    put_numbers(library, "xxhash", version, compiled);
}

static void
put_hwloc(cli_library_t *library)
{
    int number = (int)hwloc_get_api_version(), built = HWLOC_API_VERSION;
    const int version[3] = { number >> 16, number >> 8 & 255, number & 255 };
    const int compiled[3] = { built >> 16, built >> 8 & 255, built & 255 };
    put_numbers(library, "hwloc (api)", version, compiled);
}

static void
put_nettle(cli_library_t *library)
{
    library->name = "nettle";
    (void)snprintf(library->version, VERSION_BYTES, "%d.%d",
                   nettle_version_major(), nettle_version_minor());
    (void)snprintf(library->compiled, VERSION_BYTES, "%d.%d",
                   NETTLE_VERSION_MAJOR, NETTLE_VERSION_MINOR);
}

size_t
cli_libraries(cli_library_t *libraries)
{
    size_t count = 0;
    put_zmq(&libraries[count++]);
    put_czmq(&libraries[count++]);
    put(&libraries[count++], "msgpack-c", msgpack_version(), MSGPACK_VERSION);
    put_hwloc(&libraries[count++]);
    put(&libraries[count], "libfyaml", fy_library_version(), "");
    count++;
    put_xxhash(&libraries[count++]);
    put(&libraries[count++], "jansson", jansson_version_str(), JANSSON_VERSION);
    put(&libraries[count++], "libsodium", sodium_version_string(),
        SODIUM_VERSION_STRING);
    put_nettle(&libraries[count++]);
    put(&libraries[count++], "utf8proc", utf8proc_version(), "");
    put(&libraries[count++], "zlib", zlibVersion(), ZLIB_VERSION);
    put(&libraries[count++], "libzstd", ZSTD_versionString(),
        ZSTD_VERSION_STRING);
    return count;
}

bool
cli_has_curve(void)
{
    return zmq_has("curve") == 1;
}

const char *
cli_compiler(void)
{
#ifdef __clang__
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

const char *
cli_kernels_used(void)
{
    const skn_kernels_t *kernels = skn_kernels_best();
    return kernels ? kernels->isa : NULL;
}

const char *
cli_kernels_best(void)
{
    return skn_kernels_variant(0)->isa;
}

const char *
cli_kernels_built(void)
{
    return skn_kernels_names();
}
