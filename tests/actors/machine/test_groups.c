/* test_groups.c - tests limits of memory and processor time in a synthetic
 * /proc and /sys.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/temp_folder.h"
#include "actors/machine/groups.h"

#define MIB (UINT64_C(1) << 20)

static char root[TEMP_FOLDER_BYTES];

/* Writes a file below the root, and the folders that it lies in. */
__attribute__((format(printf, 2, 3))) static void
put(const char *name, const char *format, ...)
{
    char path[4096];
    va_list arguments;
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        (void)mkdir(path, 0777);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    cr_assert(file, "%s", path);
    va_start(arguments, format);
    (void)vfprintf(file, format, arguments);
    va_end(arguments);
    cr_assert_eq(fclose(file), 0);
}

static void
set_up(void)
{
    temp_folder_make(root);
}

static void
tear_down(void)
{
    temp_folder_remove(root);
}

TestSuite(groups, .init = set_up, .fini = tear_down, .timeout = 60);

#define V1 "sys/fs/cgroup/memory"
#define V2 "sys/fs/cgroup"

static const char hybrid[] = "9:name=systemd:/\n"
                             "4:memory:/jobs/one\n"
                             "1:cpu,cpuacct:/jobs\n"
                             "0::/\n";

Test(groups, without_files_there_is_no_limit)
{
    cr_expect_eq(skn_groups_memory_bytes(root), UINT64_MAX);
    put("proc/self/cgroup", "%s", hybrid);
    cr_expect_eq(skn_groups_memory_bytes(root), UINT64_MAX);
}

Test(groups, version_1_is_that_of_the_own_group)
{
    put("proc/self/cgroup", "%s", hybrid);
    put(V1 "/memory.limit_in_bytes", "9223372036854771712\n");
    put(V1 "/jobs/memory.limit_in_bytes", "9223372036854771712\n");
    put(V1 "/jobs/one/memory.limit_in_bytes", "%llu\n",
        (unsigned long long)(1536 * MIB));
    put(V1 "/jobs/one/memory.usage_in_bytes", "%llu\n",
        (unsigned long long)(100 * MIB));
    cr_expect_eq(skn_groups_memory_bytes(root), 1436 * MIB);
}

Test(groups, pages_of_files_count_as_free)
{
    put("proc/self/cgroup", "%s", hybrid);
    put(V1 "/jobs/one/memory.limit_in_bytes", "%llu\n",
        (unsigned long long)(1000 * MIB));
    put(V1 "/jobs/one/memory.usage_in_bytes", "%llu\n",
        (unsigned long long)(900 * MIB));
    put(V1 "/jobs/one/memory.stat",
        "cache 7\ninactive_file 5\ntotal_inactive_file %llu\n"
        "total_active_file %llu\ntotal_unevictable 9\n",
        (unsigned long long)(500 * MIB), (unsigned long long)(300 * MIB));
    cr_expect_eq(skn_groups_memory_bytes(root), 900 * MIB);
}

Test(groups, the_least_of_those_above_counts)
{
    put("proc/self/cgroup", "%s", hybrid);
    put(V1 "/jobs/one/memory.limit_in_bytes", "%llu\n",
        (unsigned long long)(800 * MIB));
    put(V1 "/jobs/memory.limit_in_bytes", "%llu\n",
        (unsigned long long)(600 * MIB));
    put(V1 "/jobs/memory.usage_in_bytes", "%llu\n",
        (unsigned long long)(50 * MIB));
    put(V1 "/memory.limit_in_bytes", "%llu\n", (unsigned long long)(700 * MIB));
    cr_expect_eq(skn_groups_memory_bytes(root), 550 * MIB);
    put(V1 "/memory.limit_in_bytes", "%llu\n", (unsigned long long)(200 * MIB));
    cr_expect_eq(skn_groups_memory_bytes(root), 200 * MIB);
}

Test(groups, in_a_container_the_mounted_group_is_the_own_one)
{
    put("proc/self/cgroup", "4:memory:/docker/0123\n");
    put(V1 "/memory.limit_in_bytes", "%llu\n", (unsigned long long)(300 * MIB));
    cr_expect_eq(skn_groups_memory_bytes(root), 300 * MIB);
}

Test(groups, version_2_is_read_too)
{
    put("proc/self/cgroup", "0::/a/b\n");
    put(V2 "/a/b/memory.max", "max\n");
    cr_expect_eq(skn_groups_memory_bytes(root), UINT64_MAX);
    put(V2 "/a/memory.max", "%llu\n", (unsigned long long)(400 * MIB));
    put(V2 "/a/memory.current", "%llu\n", (unsigned long long)(300 * MIB));
    put(V2 "/a/memory.stat", "anon 1\ninactive_file %llu\nactive_file 0\n",
        (unsigned long long)(200 * MIB));
    cr_expect_eq(skn_groups_memory_bytes(root), 300 * MIB);
    /* More in use than is allowed: it was lowered. */
    put(V2 "/a/memory.current", "%llu\n", (unsigned long long)(900 * MIB));
    cr_expect_eq(skn_groups_memory_bytes(root), 0);
}

Test(groups, rubbish_is_no_limit)
{
    static const char *const texts[] = {
        "", "\n", ":", "4:memory\n", "::", "4:memoryless:/x\n"
    };
    put(V1 "/memory.limit_in_bytes", "nothing\n");
    put(V1 "/x/memory.limit_in_bytes", "5\n");
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        put("proc/self/cgroup", "%s", texts[k]);
        cr_expect_eq(skn_groups_memory_bytes(root), UINT64_MAX, "'%s'",
                     texts[k]);
    }
}

Test(groups, this_machine_has_some_left)
{
    cr_expect_gt(skn_groups_memory_bytes(""), 0);
}

Test(groups, processor_time_is_the_least_quota)
{
    cr_expect_eq(skn_groups_units(root), 0);
    put("proc/self/cgroup", "%s", hybrid);
    cr_expect_eq(skn_groups_units(root), 0);
    put("sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/jobs/cpu.cfs_period_us", "100000\n");
    cr_expect_eq(skn_groups_units(root), 0);
    put("sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us", "150000\n");
    cr_expect_eq(skn_groups_units(root), 1.5);
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "8000\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "20000\n");
    cr_expect_eq(skn_groups_units(root), 0.4, "of those above it, too");
    put("sys/fs/cgroup/cpu.max", "max 100000\n");
    cr_expect_eq(skn_groups_units(root), 0.4);
    put("sys/fs/cgroup/cpu.max", "20000 100000\n");
    cr_expect_eq(skn_groups_units(root), 0.2);
    put("sys/fs/cgroup/cpu.max", "nonsense\n");
    cr_expect_eq(skn_groups_units(root), 0.4);
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "0\n");
    cr_expect_eq(skn_groups_units(root), 1.5);
}

Test(groups, what_a_quota_held_back_is_reported)
{
    cr_expect_eq(skn_groups_throttled_ns(root), 0);
    put("proc/self/cgroup", "%s", hybrid);
    put("sys/fs/cgroup/cpu/jobs/cpu.stat",
        "nr_periods 9\nnr_throttled 5\nthrottled_time 7000\n");
    cr_expect_eq(skn_groups_throttled_ns(root), 7000);
    put("sys/fs/cgroup/cpu.stat", "usage_usec 3\nthrottled_usec 9\n");
    cr_expect_eq(skn_groups_throttled_ns(root), 9000);
}

Test(groups, where_they_are_mounted_is_looked_up)
{
    put("proc/self/cgroup", "1:cpu,cpuacct:/jobs/7\n0::/user/x\n");
    put("proc/self/mountinfo",
        "20 1 0:1 / / rw - ext4 /dev/sda rw\n"
        "30 20 0:5 / /groups/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "31 20 0:6 / /groups/unified rw - cgroup2 cgroup2 rw\n");
    put("groups/cpu,cpuacct/jobs/7/cpu.cfs_quota_us", "50000\n");
    put("groups/cpu,cpuacct/jobs/7/cpu.cfs_period_us", "100000\n");
    cr_expect_eq(skn_groups_units(root), 0.5);
    put("groups/unified/user/x/cpu.max", "max 100000\n");
    put("groups/unified/user/cpu.max", "25000 100000\n");
    cr_expect_eq(skn_groups_units(root), 0.25);
}

/* A container without a namespace of its own: names are those of the host, and
 * what is mounted is its part of the tree. */
Test(groups, a_mount_may_begin_below_the_root)
{
    put("proc/self/cgroup", "0::/docker/0123/init/worker\n");
    put("proc/self/mountinfo",
        "31 20 0:6 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    put(V2 "/init/worker/memory.max", "max\n");
    put(V2 "/init/cpu.max", "70000 100000\n");
    cr_expect_eq(skn_groups_units(root), 0.7);
    put("proc/self/cgroup", "0::/docker/01234\n");
    put(V2 "/cpu.max", "60000 100000\n");
    cr_expect_eq(skn_groups_units(root), 0.6, "another one's, or moved away");
    put("proc/self/cgroup", "0::/../0123\n");
    cr_expect_eq(skn_groups_units(root), 0.6, "out of its namespace");
}

Test(groups, memory_is_short_above_the_high_mark)
{
    put("proc/self/cgroup", "0::/a\n");
    put(V2 "/a/memory.max", "%llu\n", (unsigned long long)(900 * MIB));
    put(V2 "/a/memory.high", "%llu\n", (unsigned long long)(300 * MIB));
    put(V2 "/a/memory.current", "%llu\n", (unsigned long long)(100 * MIB));
    cr_expect_eq(skn_groups_memory_bytes(root), 200 * MIB);
    put(V2 "/a/memory.max", "max\n");
    cr_expect_eq(skn_groups_memory_bytes(root), 200 * MIB);
    put(V2 "/a/memory.high", "max\n");
    cr_expect_eq(skn_groups_memory_bytes(root), UINT64_MAX);
}

Test(groups, threads_are_what_the_limits_leave)
{
    put("proc/self/cgroup", "3:pids:/jobs\n0::/x\n");
    cr_expect_eq(skn_groups_threads(root), UINT64_MAX);
    put("sys/fs/cgroup/pids/jobs/pids.max", "max\n");
    cr_expect_eq(skn_groups_threads(root), UINT64_MAX);
    put("sys/fs/cgroup/pids/pids.max", "500\n");
    put("sys/fs/cgroup/pids/pids.current", "480\n");
    cr_expect_eq(skn_groups_threads(root), 20);
    put(V2 "/x/pids.max", "7\n");
    put(V2 "/x/pids.current", "9\n");
    cr_expect_eq(skn_groups_threads(root), 0);
}

/* --- texts --------------------------------------------------------------- */

static const char mounts[] =
    "22 1 0:20 / /proc rw,relatime - proc proc rw\n"
    "30 1 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
    "31 30 0:27 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n"
    "32 30 0:28 /box /sys/fs/cgroup/cpu,cpuacct rw master:1 - cgroup cgroup "
    "rw,cpuacct,cpu\n"
    "33 30 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "34 30 0:30 / /mnt/a\\040b rw - cgroup cgroup rw,memory\n";

Test(groups, mounts_are_found_by_their_controller)
{
    char mount[SKN_GROUPS_PATH_BYTES], top[SKN_GROUPS_PATH_BYTES];
    cr_assert(skn_groups_mount(mounts, NULL, mount, top));
    cr_expect_str_eq(mount, "/sys/fs/cgroup/unified");
    cr_expect_str_eq(top, "/");
    cr_assert(skn_groups_mount(mounts, "cpu", mount, top));
    cr_expect_str_eq(mount, "/sys/fs/cgroup/cpu,cpuacct");
    cr_expect_str_eq(top, "/box");
    cr_assert(skn_groups_mount(mounts, "cpuset", mount, top));
    cr_expect_str_eq(mount, "/sys/fs/cgroup/cpuset");
    cr_expect_not(skn_groups_mount(mounts, "memory", mount, top));
    cr_expect_not(skn_groups_mount(mounts, "cp", mount, top));
    cr_expect_not(skn_groups_mount("", NULL, mount, top));
    cr_expect_not(skn_groups_mount("\n\nx\n1 2 3 - cgroup2", NULL, mount, top));
}

Test(groups, a_torn_list_of_mounts_is_read_as_far_as_it_goes)
{
    char text[sizeof(mounts)];
    char mount[SKN_GROUPS_PATH_BYTES], top[SKN_GROUPS_PATH_BYTES];
    for (size_t bytes = 0; bytes < sizeof(mounts); bytes++) {
        memcpy(text, mounts, bytes);
        text[bytes] = '\0';
        if (skn_groups_mount(text, "cpu", mount, top))
            cr_expect_str_eq(mount, "/sys/fs/cgroup/cpu,cpuacct");
    }
}

Test(groups, the_own_group_is_found_by_its_controller)
{
    static const char groups[] = "12:cpuset:/\n3:cpu,cpuacct:/a:b/c\n"
                                 "1:name=systemd:/x\n0::/user.slice/s\n";
    char path[SKN_GROUPS_PATH_BYTES];
    cr_assert(skn_groups_own(groups, "cpu", path));
    cr_expect_str_eq(path, "/a:b/c");
    cr_assert(skn_groups_own(groups, "cpuset", path));
    cr_expect_str_eq(path, "/");
    cr_assert(skn_groups_own(groups, NULL, path));
    cr_expect_str_eq(path, "/user.slice/s");
    cr_expect_not(skn_groups_own(groups, "memory", path));
    cr_expect_not(skn_groups_own("", NULL, path));
    cr_expect_not(skn_groups_own("x\n1:2", "cpu", path));
}
