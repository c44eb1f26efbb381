#!/usr/bin/env python3
"""test_deps.py - .ci/deps installs what is missing, once, and says why not.

The package tools are stand-ins in a folder of the test that write down how
they were called: nothing is installed here.
SPDX-License-Identifier: Apache-2.0
"""
import os
import subprocess
import tempfile
import unittest

import checks

HERE = os.path.dirname(os.path.abspath(__file__))
DEPS = os.path.join(HERE, "..", ".ci", "deps")
# $FOLDER/installed lists what is there; apt-get install adds to it.
TOOLS = {
    "dpkg-query": """for name in "$@"; do
        grep -qx -- "$name" "$FOLDER/installed" && echo "$name installed"
    done; exit 1""",
    "apt-cache": """[ -f "$FOLDER/lists" ]""",
    "apt-get": """echo "apt-get $*" >>"$FOLDER/calls"
    [ ! -e "$SKEIN_POLICY" ] || "$SKEIN_POLICY" || echo $? >"$FOLDER/forbidden"
    case " $* " in
    *" update "*) touch "$FOLDER/lists"; exit ;;
    esac
    [ -f "$FOLDER/lists" ] && [ ! -f "$FOLDER/broken" ] || exit 100
    for name; do echo "$name" >>"$FOLDER/installed"; done""",
    "id": """echo "${PRETEND_ID:-0}" """,
    "sudo": """[ -f "$FOLDER/sudo-works" ] || exit 1
    [ "$1" != -n ] || shift
    echo "sudo" >>"$FOLDER/calls"; exec "$@" """,
}


class Deps(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = self.kept.name
        self.addCleanup(self.kept.cleanup)
        for name, text in TOOLS.items():
            self.tool(name, text)
        for name in ("bash", "env", "grep", "install", "rm", "touch", "true"):
            os.symlink(f"/usr/bin/{name}", os.path.join(self.folder, name))
        self.names = self.run_deps("--list").stdout.split()
        self.write("installed", "\n".join(self.names) + "\n")

    def tool(self, name, text):
        self.write(name, "#!/bin/bash\n" + text + "\n")
        os.chmod(os.path.join(self.folder, name), 0o755)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w",
                  encoding="utf-8") as file:
            file.write(text)

    def calls(self):
        path = os.path.join(self.folder, "calls")
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read()

    def remove(self, *names):
        left = [name for name in self.names if name not in names]
        self.write("installed", "\n".join(left) + "\n")

    def run_deps(self, *arguments, **variables):
        environment = {"PATH": self.folder, "FOLDER": self.folder,
                       "SKEIN_SYSTEMD": os.path.join(self.folder, "none"),
                       "SKEIN_POLICY": os.path.join(self.folder, "policy")}
        environment.update(variables)
        return subprocess.run(["/bin/bash", DEPS, *arguments],
                              env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)

    def test_nothing_is_called_when_all_is_there(self):
        done = self.run_deps()
        self.assertEqual((done.returncode, done.stderr, self.calls()),
                         (0, "", ""))

    def test_only_what_is_missing_is_installed(self):
        self.write("lists", "")
        self.remove("cmake", "zstd")
        self.assertEqual(self.run_deps().returncode, 0)
        self.assertEqual(self.calls().count("apt-get"), 1)
        self.assertIn("cmake zstd\n", self.calls())
        self.assertNotIn("update", self.calls())

    def test_a_second_run_does_nothing(self):
        self.write("lists", "")
        self.remove("cmake")
        self.run_deps()
        before = self.calls()
        self.assertEqual(self.run_deps().returncode, 0)
        self.assertEqual(self.calls(), before)

    def test_the_lists_are_updated_only_when_there_are_none(self):
        self.remove("cmake")
        self.assertEqual(self.run_deps().returncode, 0)
        self.assertIn("update", self.calls())

    def test_what_makes_apt_get_an_index_is_wanted_by_files_alone(self):
        self.write("lists", "")
        self.assertNotIn("apt-file", self.names)
        self.assertEqual(self.run_deps("--files").returncode, 0)
        self.assertIn("apt-file\n", self.calls())

    def test_what_cannot_be_installed_is_a_failure(self):
        self.write("lists", "")
        self.write("broken", "")
        self.remove("cmake")
        self.assertNotEqual(self.run_deps().returncode, 0)

    def test_sudo_is_used_by_others_than_root(self):
        self.write("lists", "")
        self.write("sudo-works", "")
        self.remove("cmake")
        self.assertEqual(self.run_deps(PRETEND_ID="1000").returncode, 0)
        self.assertIn("sudo\napt-get", self.calls())

    def test_without_root_and_sudo_it_says_what_to_ask_for(self):
        self.remove("cmake", "libzmq3-dev")
        done = self.run_deps(PRETEND_ID="1000")
        self.assertEqual(done.returncode, 77)
        self.assertIn("deps: neither root nor sudo; ask an administrator for: "
                      "apt-get install cmake libzmq3-dev\n", done.stderr)
        self.assertEqual(self.calls(), "")

    def test_check_installs_nothing_and_names_the_remedy(self):
        self.remove("cmake")
        done = self.run_deps("--check")
        self.assertEqual((done.returncode, done.stderr, self.calls()),
                         (1, "deps: missing: cmake; run `make deps` first\n",
                          ""))

    def test_check_wants_no_developer_tools(self):
        self.remove("gcovr", "strace")
        self.assertEqual(self.run_deps("--check").returncode, 0)

    def test_other_systems_are_told_what_to_install(self):
        os.remove(os.path.join(self.folder, "dpkg-query"))
        done = self.run_deps()
        self.assertEqual(done.returncode, 69)
        self.assertIn("not a Debian system", done.stderr)
        self.assertIn("libczmq-dev", done.stderr)
        self.assertEqual(self.run_deps(SKEIN_DEPS="skip").returncode, 0)

    def test_no_server_is_installed_where_it_would_be_started(self):
        self.write("lists", "")
        self.remove("openssh-server")
        done = self.run_deps(SKEIN_SYSTEMD=self.folder)
        self.assertEqual((done.returncode, self.calls()), (0, ""))
        self.assertIn("deps: leaving out openssh-server, ", done.stderr)
        self.assertEqual(self.run_deps().returncode, 0)
        self.assertIn("openssh-server", self.calls())

    def test_engines_are_wanted_by_engines_alone(self):
        self.write("lists", "")
        self.assertNotIn("slurmctld", self.names)
        self.assertEqual(self.run_deps("--engines").returncode, 0)
        for name in ("slurmctld", "slurmd", "munge", "openmpi-bin"):
            self.assertIn(name, self.calls().split())
        before = self.calls()
        self.assertEqual(self.run_deps("--engines").returncode, 0)
        self.assertEqual(self.calls(), before)

    def test_no_engine_is_installed_where_it_would_be_started(self):
        self.write("lists", "")
        done = self.run_deps("--engines", SKEIN_SYSTEMD=self.folder)
        self.assertEqual(done.returncode, 0)
        for name in ("slurmctld", "slurmd", "munge"):
            self.assertIn("deps: leaving out %s, " % name, done.stderr)
            self.assertNotIn(name, self.calls().split())
        self.assertIn("openmpi-bin", self.calls().split())

    def test_what_is_installed_is_not_started(self):
        self.write("lists", "")
        self.remove("openssh-server")
        self.assertEqual(self.run_deps().returncode, 0)
        with open(os.path.join(self.folder, "forbidden"),
                  encoding="utf-8") as file:
            self.assertEqual(file.read(), "101\n")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "policy")))

    def test_a_policy_of_the_machines_owner_stays(self):
        self.write("lists", "")
        self.tool("policy", "exit 0")
        self.remove("openssh-server")
        self.assertEqual(self.run_deps().returncode, 0)
        self.assertFalse(os.path.exists(os.path.join(self.folder,
                                                     "forbidden")))
        self.assertTrue(os.path.exists(os.path.join(self.folder, "policy")))

    def test_unknown_arguments_are_refused(self):
        self.assertEqual(self.run_deps("--chekc").returncode, 64)


if __name__ == "__main__":
    checks.main()
