#!/usr/bin/env python3
"""signals.py - whatever asks a run to stop, it saves once and ends.

Starts every verb that trains, sends it the signals that schedulers, shells and
terminals send, and looks at what was said, at the exit code, and at what lies
on the disk. A process is waited for by what it says, never by the clock; an
alarm ends all of it if one wait takes too long.

Covers cli/base/stop.c, cli/base/supervise.c, cli/base/trainer.c,
cli/base/train_loop.c, cli/member/verb_member.c,
cli/base/resume_command.c, topology/run/run_config.c, --requeue-code, and
actors/course/source.c where a stop cuts an evaluation.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import pty
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time

from second_opinion import SKEIN, Report, drawer, write_points

FEATURES, LABELS = 40, 12
MODEL = """\
skein: 1
data: { train: train.txt, cache: none }
model:
  layers:
    - { name: hidden, units: 16, dropout: 0 }
    - { name: output, sampler: { kind: exact } }
train:
  batch_rows: 32
  epochs: 1000000
  optimizer: { rate: 0.01 }
  schedule: { kind: constant }
checkpoint: { path: run, every_epochs: 0 }
"""
SHORT = ("-o", "train.epochs=2")
LONG = ("-o", "checkpoint.copies=2", "-o", "checkpoint.every_batches=20", "-o",
        "train.epochs=2000")
REQUEUE = ("--requeue-code", "85")


# --- what is trained ---------------------------------------------------------

def hold_ports(count):
    """Ports that nobody else is given until this process ends."""
    words = [sys.executable, pathlib.Path(__file__).parent / "hold_ports.py",
             str(count), str(os.getpid())]
    return subprocess.check_output(words, text=True).split()


def make_files(folder):
    """A tiny set, and models of it for one process, two nodes, two members."""
    draw = drawer(5)
    points = []
    for _ in range(300):
        topic = draw(LABELS)
        features = sorted({(topic * 3 + draw(4)) % FEATURES for _ in range(3)})
        points.append(([topic], [(k, 1) for k in features]))
    write_points(folder / "train.txt", points, FEATURES, LABELS)
    (folder / "m.yaml").write_text(MODEL, encoding="ascii")
    for name in ("a", "b", "lead"):
        subprocess.run([SKEIN, "keygen", name + ".key"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
    port = hold_ports(3)
    nodes = "nodes:\n" + "".join(
        f'  - {{ name: {name}, address: "tcp://127.0.0.1:{port[k]}", '
        f"key: {name}.key, cores: 1 }}\n" for k, name in enumerate("ab"))
    (folder / "pair.yaml").write_text(MODEL + nodes, encoding="ascii")
    lead = f'coordinator: {{ address: "tcp://127.0.0.1:{port[2]}", ' \
        "key: lead.key }\n"
    (folder / "members.yaml").write_text(MODEL + nodes + lead, encoding="ascii")


# --- processes ---------------------------------------------------------------

WAIT_S = 60  # far more than any of them takes, however busy the machine


def expect(what):
    """Until the next call: what is waited for, for WAIT_S at most."""
    def give_up(*_):
        raise TimeoutError(f"{what} after {WAIT_S} s")
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(WAIT_S)


class Run:
    """A process of `skein` that prints events."""

    started = []

    def __init__(self, folder, *words, **how):
        self.error_path = folder / f"stderr.{id(self)}"
        with open(self.error_path, "wb") as error:
            self.process = subprocess.Popen(
                [SKEIN, *words, "--json"], cwd=folder, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=error, text=True, **how)
        self.events, self.words = [], words
        Run.started.append(self.process)

    def until(self, name, **members):
        """Reads events up to one of that name and those members; or None."""
        expect(f"{self.words} has not got to {name or 'its end'}")
        for line in self.process.stdout:
            event = json.loads(line)
            self.events.append(event)
            if event["event"] == name and members.items() <= event.items():
                return event
        return None

    def send(self, *numbers):
        for number in numbers:
            self.process.send_signal(number)

    def end(self):
        """Reads the rest; the exit code, negative for a signal."""
        self.until(None)
        return self.process.wait()

    def interrupt_twice(self, sentence):
        """Ctrl-C, which is answered with `sentence`, and another one."""
        self.send(signal.SIGINT)
        self.await_error(sentence)
        time.sleep(0.05)  # soon after the first it is the same
        self.send(signal.SIGINT)

    def named(self, name):
        return [event for event in self.events if event["event"] == name]

    def errors(self):
        return self.error_path.read_text(errors="replace")

    def await_error(self, text):
        """Until it is on standard error, or the process has ended."""
        expect(f"{self.words} has not said '{text}'")
        while text not in self.errors() and self.process.poll() is None:
            time.sleep(0.01)

    def said(self):
        """Its last events and its standard error, for a failed check."""
        return f"{self.process.returncode} {self.events[-4:]} {self.errors()}"


def check_end(report, sentence, run, code, last=None, **members):
    """Ends with `code`, and with an event `last` that has these members."""
    got = run.end()
    event = run.events[-1] if run.events else {"event": "none"}
    good = got == code and (not last or (event["event"] == last
                                         and members.items() <= event.items()))
    report.check(sentence, good, run.said())


# --- what is on the disk -----------------------------------------------------

def batch_of(run_folder):
    """Of its newest checkpoint; -1: there is none."""
    try:
        return int(os.readlink(run_folder / "latest").split("-")[1])
    except FileNotFoundError:
        return -1


def check_saved(report, sentence, run, run_folder):
    """Ended well, saved once, and the batch is that of its `stopped`."""
    code = run.end()
    stopped = run.named("stopped")
    saved = [event["batch"] for event in run.named("checkpoint")]
    batch = stopped[-1].get("batch") if stopped else None
    good = (code == 0 and len(stopped) == 1 and saved.count(batch) == 1
            and saved[-1] == batch == batch_of(run_folder))
    report.check(sentence, good, f"{batch_of(run_folder)} {run.said()}")


def child_of(pid):
    """The first process that it, or a thread of it, has started."""
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    return int(" ".join(path.read_text(encoding="ascii")
                        for path in tasks).split()[0])


def busy_s(pid):
    """The CPU time that its last descendant, which trains, has used."""
    try:
        while True:
            pid = child_of(pid)
    except IndexError:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def worker_of(run):
    """The process that trains."""
    return child_of(run.process.pid)


def pending_of(process):
    """The signals that wait for it."""
    path = pathlib.Path(f"/proc/{process}/status")
    return [line for line in path.read_text(encoding="ascii").splitlines()
            if line.startswith("ShdPnd")]


# --- signals -----------------------------------------------------------------

ASKING = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2,
          signal.SIGXCPU)


def begun(folder, *words, name, **how):
    """A run of `train` that has trained an epoch."""
    run = Run(folder, "train", "m.yaml", "-o", f"checkpoint.path={name}",
              *words, **how)
    run.until("epoch")
    return run


def check_train(report, folder):
    """Each of them, all of them, to the process, its group and its worker."""
    for number in (signal.SIGINT, *ASKING):
        name = signal.Signals(number).name
        run = begun(folder, name=name)
        run.send(number)
        check_saved(report, f"train saves and ends on {name}", run,
                    folder / name)
    run = begun(folder, name="mixed")
    run.send(*ASKING, signal.SIGTERM, signal.SIGINT, *ASKING)
    check_saved(report, "all of them, in any order, are one wish", run,
                folder / "mixed")
    run = begun(folder, name="group", start_new_session=True)
    for number in ASKING:
        os.killpg(run.process.pid, number)
    check_saved(report, "and to the whole group", run, folder / "group")
    for number in ASKING:
        name = "worker" + signal.Signals(number).name
        run = begun(folder, name=name)
        os.kill(worker_of(run), number)
        check_saved(report, f"and {name[6:]} to the worker alone", run,
                    folder / name)


def check_slow_save(report, folder):
    """Slurm sends SIGTERM at the start and the end of its grace time."""
    run = begun(folder, name="slow")
    worker = worker_of(run)
    os.kill(worker, signal.SIGSTOP)  # it takes as long as it takes
    waiting = pending_of(worker)
    run.send(signal.SIGUSR1)
    expect("the worker is not told of SIGUSR1")
    while pending_of(worker) == waiting:
        time.sleep(0.01)
    for _ in range(3):
        run.send(signal.SIGTERM, signal.SIGHUP)
    os.kill(worker, signal.SIGCONT)
    check_saved(report, "a second signal while it saves changes nothing", run,
                folder / "slow")


def check_interrupts(report, folder):
    """Only a second SIGINT ends at once, whatever the worker does."""
    run = begun(folder, name="twice")
    os.kill(worker_of(run), signal.SIGSTOP)  # as a handler that hangs
    run.send(signal.SIGTERM, signal.SIGINT)
    run.await_error("press Ctrl-C again to quit without saving")
    report.check("SIGINT is answered at once, though the worker hangs",
                 run.process.poll() is None, run.said())
    expect("Ctrl-C does not end the run")
    while run.process.poll() is None:  # soon after the first it is the same
        run.send(signal.SIGINT)
        time.sleep(0.02)
    report.check("a second one ends it at once", run.process.returncode in
                 (130, -signal.SIGINT), run.said())


def check_ignored(report, folder):
    """nohup ignores SIGHUP: it stays ignored."""
    run = begun(folder, name="nohup", preexec_fn=lambda: signal.signal(
        signal.SIGHUP, signal.SIG_IGN), start_new_session=True)
    os.killpg(run.process.pid, signal.SIGHUP)
    report.check("SIGHUP that is ignored stays ignored",
                 all(run.until("epoch") for _ in range(10)), run.said())
    run.send(signal.SIGTERM)
    check_saved(report, "  and SIGTERM is heeded", run, folder / "nohup")


def check_children(report, folder):
    """Whoever starts a run may ignore the ends of children: it has its own."""
    run = Run(folder, "train", "m.yaml", "-o", "checkpoint.path=alone", *SHORT,
              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    report.check("a run ends where SIGCHLD was ignored", run.end() == 0,
                 run.said())


def check_early_nodes(report, folder):
    """Signals to the group while `up` starts its nodes."""
    for k in range(6):
        run = Run(folder, "up", "m.yaml", "--local-nodes", "2", *REQUEUE, "-o",
                  f"checkpoint.path=nodes{k}", start_new_session=True)
        time.sleep(0.1 + 0.05 * k)
        os.killpg(run.process.pid, signal.SIGTERM)
        report.check("and of nodes, none of which is killed by it",
                     run.end() in (85, -signal.SIGTERM), run.said())


def check_early(report, folder):
    """Before there is a worker, and before it trains: nothing is left over."""
    for k in range(8):
        name = f"early{k}"
        run = Run(folder, "train", "m.yaml", "-o", f"checkpoint.path={name}")
        time.sleep(0.004 * k)
        run.send(signal.SIGTERM)
        code = run.end()
        batch = [event.get("batch", -1) for event in run.named("stopped")]
        report.check("a signal in the first moments ends it well",
                     code == -signal.SIGTERM or code == 0 and
                     batch in ([batch_of(folder / name)], [-1]), run.said())


    for k in range(12):
        run = Run(folder, "train", "m.yaml", "-o", "train.ensemble=2", "-o",
                  f"checkpoint.path=early_both{k}")
        time.sleep(0.01 * k)
        run.send(signal.SIGTERM)
        code = run.end()
        report.check("and an ensemble, while it is planned", code in
                     (0, -signal.SIGTERM), run.said())


def check_limits(report, folder):
    """A limit of the shell ends no run without a word, or its checkpoint."""
    run = begun(folder, "-o", "checkpoint.every_batches=20", name="fsize")
    run.until("checkpoint")
    resource.prlimit(worker_of(run), resource.RLIMIT_FSIZE, (512, 512))
    run.until("warning")
    report.check("a file that may not grow is told (ulimit -f)",
                 "File too large" in run.errors(), run.said())
    kept = batch_of(folder / "fsize")
    run.send(signal.SIGTERM)
    check_end(report, "  a run that cannot save as it stops has failed", run,
              74, "error")
    report.check("  and the checkpoint before is there",
                 batch_of(folder / "fsize") == kept, run.said())
    run = Run(folder, "train", "m.yaml", "-o", "checkpoint.path=cpu",
              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU,
                                                    (2, 2)))
    check_saved(report, "and so does the end of its CPU time (ulimit -t)", run,
                folder / "cpu")


def check_unread(report, folder):
    """`| head`: whoever reads goes away."""
    plan = subprocess.run([SKEIN, "plan", "m.yaml", "-o",
                           "checkpoint.path=plan"], cwd=folder, check=True,
                          capture_output=True).stdout
    (folder / "plan.yaml").write_bytes(plan)
    for words, name in ((("train", "m.yaml", "-o", "checkpoint.path=head"),
                         "head"), (("run", "plan.yaml"), "plan")):
        run = Run(folder, *words)
        run.until("epoch")
        run.process.stdout.close()
        code = run.process.wait(WAIT_S)
        report.check(f"{words[0]} that nobody reads saves, and ends as others "
                     "do", code == -signal.SIGPIPE
                     and batch_of(folder / name) > 0, run.said())


def on_terminal(folder, words, key, after):
    """What a terminal shows of it, if `key` is pressed once `after` stands."""
    pid, end = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ["TERM"] = "xterm"
        os.execv(SKEIN, ["skein", *words])
    shown = b""
    expect(f"{words} on a terminal has not ended")
    while True:
        select.select([end], [], [])
        try:
            piece = os.read(end, 65536)
        except OSError:
            piece = b""
        if not piece:
            break
        shown += piece
        if key and after in shown:
            os.write(end, key)
            key = None
    os.close(end)
    return shown, os.waitpid(pid, 0)[1]


def check_terminal(report, folder):
    """Ctrl-C takes the progress away, and the ^C, before it says anything."""
    shown, status = on_terminal(
        folder, ("train", "m.yaml", "-o", "checkpoint.path=terminal"), b"\x03",
        b"left")
    report.check("Ctrl-C clears the line that its sentence stands on",
                 b"\r\x1b[Kskein: stopping: saving a checkpoint (press Ctrl-C "
                 b"again to quit without saving)\r\n" in shown, shown[-600:])
    report.check("  and the run is saved", status == 0
                 and batch_of(folder / "terminal") > 0, shown[-600:])


def check_verbs(report, folder):
    """The other verbs that train, each with another signal."""
    runs = {name: Run(folder, "node", name, "pair.yaml", "-o",
                      "checkpoint.path=nodes") for name in "ab"}
    runs["a"].until("epoch")
    runs["b"].send(signal.SIGHUP)
    check_saved(report, "SIGHUP to one node of two saves", runs["a"],
                folder / "nodes")
    check_end(report, "  and ends both", runs["b"], 0)
    run = Run(folder, "up", "m.yaml", "--local-nodes", "2", "-o",
              "checkpoint.path=up", start_new_session=True)
    run.until("epoch")
    for number in (signal.SIGXCPU, signal.SIGTERM, signal.SIGTERM):
        os.killpg(run.process.pid, number)
    check_saved(report, "signals to the group of `up` save", run, folder / "up")
    run = Run(folder, "up", "m.yaml", "--local-nodes", "2", "--elastic", "-o",
              "checkpoint.path=elastic")
    run.until("epoch")
    run.send(signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM)
    check_end(report, "signals to `up --elastic` stop the run", run, 0,
              "harvest")
    report.check("  and it is saved", batch_of(folder / "elastic/n0") > 0,
                 run.said())
    run = Run(folder, "train", "m.yaml", "-o", "train.ensemble=2", "-o",
              "checkpoint.path=both")
    run.until("epoch")
    run.send(signal.SIGUSR1, signal.SIGTERM)
    check_saved(report, "an ensemble saves the network that it trains", run,
                folder / "both/network-1")
    run = Run(folder, "tune", "m.yaml", "-o", "train.epochs=3", "--folder",
              "tune")
    run.until("trial")
    run.send(signal.SIGHUP, signal.SIGUSR1)
    check_end(report, "tune keeps the trials that are done", run, 0, "stopped")
    for number, code in ((signal.SIGHUP, 69), (signal.SIGINT, 130)):
        path = folder / f"torture{code}"
        run = Run(folder, "torture", "m.yaml", "--kills", "1", "-o",
                  f"checkpoint.path={path}", "-o",
                  "checkpoint.every_batches=2000")
        expect("torture has not begun")
        # A run that has not begun to train has nothing to save.
        while batch_of(path / "undisturbed") < 0:
            time.sleep(0.01)
        before = batch_of(path / "undisturbed")
        if number == signal.SIGINT:
            os.kill(worker_of(run), signal.SIGSTOP)  # the undisturbed run
            run.interrupt_twice("press Ctrl-C again to quit without saving")
        else:
            run.send(number)
        check_end(report, f"torture that is told to stop ends with {code}",
                  run, code, "error")
        if code == 69:
            report.check("  and what it compares with is saved",
                         batch_of(path / "undisturbed") > before, run.said())


# --- evaluations -------------------------------------------------------------

# Each has two evaluations, which take much longer than all the training.
DECODER = """\
skein: 1
data: { train: text.txt, context: 32, cache: none }
model: { kind: decoder, layers: 2, width: 32, heads: 2 }
train:
  reduction: fixed
  micro_tokens: 128
  batch_tokens: 512
  steps: 2
  evaluate: { every_steps: 1 }
  validate: 0.5
  optimizer: { rate: 0.01 }
checkpoint: { path: run }
"""
SPARSE = ("train", "m.yaml", "-o", "data.test=many.txt", "-o",
          "train.epochs=2", "-o", "train.window=1")
PATIENT = {  # and what tells of the first of them
    "a sparse model": (SPARSE, "epoch"),
    "a decoder": (("train", "d.yaml"), "validation"),
    "a decoder on nodes": (("up", "d.yaml", "--local-nodes", "2"),
                           "validation"),
}
MEASURED = ("event", "batch", "batches", "epoch", "loss", "recent_loss", "p1",
            "validate_p1", "validation_nats", "weights_sha256")


def measured(*runs):
    """What they have told of their training, without times."""
    return [{key: event[key] for key in MEASURED if key in event}
            for run in runs for event in run.events
            if event["event"] in ("validation", "epoch", "done")]


def check_evaluation(report, folder, what, words, told):
    """Stopped in the first evaluation, and then in the second and last one."""
    def start(name, *more):
        return Run(folder, *words, "-o", f"checkpoint.path={name}", *more)

    name, resumed = what.replace(" ", "_"), "--resume"
    first = start(name)
    first.until("start")
    expect("the evaluation has not begun")
    before = busy_s(first.process.pid)
    while busy_s(first.process.pid) < before + 0.1:
        time.sleep(0.01)
    first.send(signal.SIGTERM, signal.SIGTERM)
    check_saved(report, f"{what} that is stopped in an evaluation saves", first,
                folder / name)
    report.check("  and does not wait for it", not measured(first),
                 first.said())
    second = start(name, resumed)
    second.until(told)
    second.send(signal.SIGTERM)
    check_saved(report, "  in the last evaluation, too", second, folder / name)
    third = start(name, resumed)
    check_end(report, "  and goes on from there", third, 0, None)
    whole = start(name + "_whole")
    whole.end()
    report.check("  with the same events and weights as without stops",
                 measured(first, second, third) == measured(whole)
                 and len(measured(whole)) == 3,
                 f"{measured(first, second, third)}\n{measured(whole)}")


def check_evaluations(report, folder):
    """A stop waits for none, however long it takes."""
    (folder / "d.yaml").write_text(DECODER, encoding="ascii")
    (folder / "text.txt").write_text("the stage of a layer token gradient .\n"
                                     * 8000, encoding="ascii")
    head, *points = (folder / "train.txt").read_text().splitlines(True)
    counts = head.split()
    counts[0] = str(len(points) * 200)
    (folder / "many.txt").write_text(" ".join(counts) + "\n" +
                                     "".join(points) * 200, encoding="ascii")
    for what, (words, told) in PATIENT.items():
        check_evaluation(report, folder, what, words, told)


# --- going on ----------------------------------------------------------------

def stop_and_paste(folder, words, number, ready):
    """Stops `skein WORDS` on `ready`, and has a shell run what it says then.

    The second run is stopped as the first was. Its standard output, and that
    of the first."""
    texts, command = [], [SKEIN, *words]
    for _ in range(2):
        with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT) as process:
            Run.started.append(process)
            expect(f"{command} has not ended")
            text = ""
            for line in process.stdout:
                text += line
                if number and ready in line:
                    os.kill(process.pid, number)
                    number, again = None, number
            texts.append(text)
        lines = text.splitlines()
        at = [k for k, line in enumerate(lines) if line.endswith("continue:")
              or line.endswith("again:")]
        line = lines[at[-1] + 1] if at else "false"
        command, number = ["sh", "-c", "exec " + line], again
    return texts


PASTED = {
    "train": (("train", "m.yaml", "-o", "checkpoint.path=a b'c"), "  loss "),
    "train, unnamed": (("train", "u.yaml", "-o", "train.seed=4"), "  loss "),
    "an ensemble": (("train", "m.yaml", "-o", "train.ensemble=2", "-o",
                     "checkpoint.path=paste both"), "  loss "),
    "up": (("up", "u.yaml", "--local-nodes", "2"), "  loss "),
    "up --elastic": (("up", "u.yaml", "--local-nodes", "2", "--elastic"),
                     "  loss "),
    "tune": (("tune", "m.yaml", "--folder", "paste tune", "-o",
              "train.epochs=30"), "auto"),
}


def check_pasted(report, folder):
    """The line after a stop is a command."""
    (folder / "u.yaml").write_text(MODEL.replace("path: run, ", ""),
                                   encoding="ascii")
    for name, (words, ready) in PASTED.items():
        first, second = stop_and_paste(folder, words, signal.SIGTERM, ready)
        want = {"tune": "tune ", "up --elastic": "generation 2"}
        report.check(f"{name}: the line after a stop goes on",
                     want.get(name, "resume ") in second,
                     first[-400:] + second[-600:])


def check_folder(report, folder):
    """A run folder is enough to go on, from wherever one is."""
    def train(*words, where="elsewhere"):
        (folder / where).mkdir(exist_ok=True)
        return Run(folder / where, "train", *words)

    run = begun(folder, "-o", "train.seed=9", "-o", "train.window=4",
                name="whole")
    run.send(signal.SIGTERM)
    check_saved(report, "a run that is stopped", run, folder / "whole")
    batch = batch_of(folder / "whole")
    limit = ("-o", f"train.max_batches={batch + 40}")
    run = train("--resume", "../whole", *limit)
    done = run.until("done")
    report.check("  goes on from its folder alone, in another folder",
                 done and done["batches"] == batch + 40 and
                 run.named("resume")[0]["batch"] == batch, run.said())
    straight = Run(folder, "train", "m.yaml", "-o", "train.seed=9", "-o",
                   "train.window=4", "-o", "checkpoint.path=straight", "-o",
                   f"train.max_batches={batch + 40}")
    want = straight.until("done")
    report.check("  to the same weights", done and want and
                 want["weights_sha256"] == done["weights_sha256"], run.said())
    check_end(report, "  and is done then", train("--resume", "../whole"), 0,
              "done")
    run = Run(folder, "train", "m.yaml", "-o", "train.ensemble=2", "-o",
              "checkpoint.path=networks", "-o", "train.max_batches=4000")
    run.until("epoch")
    run.send(signal.SIGTERM)
    run.end()
    run = train("--resume", "../networks")
    check_end(report, "the folder of an ensemble goes on with its nets", run,
              0, "done")
    report.check("  and joins them", len(run.named("join")) == 1
                 and not (folder / "networks/ensemble.yaml").exists(),
                 run.said())
    check_end(report, "  and is done then", train("--resume", "../networks"), 0,
              "done")
    check_end(report, "without --resume a folder is no model file",
              train("../whole"), 66, "error")
    check_end(report, "a folder without a run is refused",
              train("--resume", "."), 66, "error")
    nodes = Run(folder, "up", "m.yaml", "--local-nodes", "2", "-o",
                "checkpoint.path=fixed")
    nodes.until("epoch")
    nodes.send(signal.SIGTERM)
    nodes.end()
    batch = batch_of(folder / "fixed")
    run = train("--resume", "../fixed", "-o", f"train.max_batches={batch + 40}")
    done = run.until("done")
    report.check("the folder of several nodes goes on in one process",
                 run.end() == 0 and done and done["batches"] == batch + 40 and
                 run.named("resume")[0]["batch"] == batch, run.said())
    report.check("  and says so", "the run continues in this one process" in
                 run.errors(), run.said())


# --- --requeue-code ----------------------------------------------------------

def check_requeue_train(report, folder):
    """0 is for a run that is over; what failed keeps its code."""
    for option, code in ((REQUEUE, 85), ((), 0)):
        run = Run(folder, "train", "m.yaml", *option, "-o",
                  f"checkpoint.path=requeue{code}")
        run.until("epoch")
        run.send(signal.SIGTERM)
        check_end(report, f"train {' '.join(option)}, told to stop, ends with "
                  f"{code}", run, code, "stopped")
    run = Run(folder, "train", "m.yaml", *REQUEUE, *SHORT, "-o",
              "checkpoint.path=over")
    check_end(report, "a run that is over ends with 0", run, 0, "done")
    run = Run(folder, "train", "m.yaml", *REQUEUE, *SHORT, "--resume", "-o",
              "checkpoint.path=over")
    check_end(report, "  when it is resumed, too", run, 0, "done")
    run = Run(folder, "train", "missing.yaml", *REQUEUE)
    check_end(report, "a failure keeps its exit code", run, 66, "error")
    for wrong in ("0", "256", "-1", "x"):
        run = Run(folder, "train", "m.yaml", "--requeue-code", wrong)
        check_end(report, f"--requeue-code '{wrong}' is refused", run, 64,
                  "error", message="--requeue-code must be a whole number in "
                  f"1..255, found '{wrong}'")


def check_requeue_nodes(report, folder):
    """One of two is told: both end in a stop, and with the code."""
    for told in "ab":
        runs = {name: Run(folder, "node", name, "pair.yaml", *REQUEUE, "-o",
                          f"checkpoint.path=told_{told}") for name in "ab"}
        runs["a"].until("epoch")
        runs[told].send(signal.SIGTERM)
        for name in "ab":
            check_end(report, f"node {told} of two is told: {name} ends "
                      "with 85", runs[name], 85)
    runs = [Run(folder, "node", name, "pair.yaml", *REQUEUE, *SHORT, "-o",
                "checkpoint.path=pair_over") for name in "ab"]
    for run, name in zip(runs, "ab"):
        check_end(report, f"node {name} of a run that is over ends with 0", run,
                  0)


def check_requeue_members(report, folder):
    """over or left is the last word, and the code says the same."""
    def start(path, *words):
        lead = Run(folder, "coordinator", "members.yaml", "--wait", "2", "-o",
                   f"checkpoint.path={path}", *words)
        members = [Run(folder, "member", name, "members.yaml", *REQUEUE, "-o",
                       f"checkpoint.path={path}", *words) for name in "ab"]
        return lead, *members

    lead, first, second = start("leaving", *LONG)
    first.until("checkpoint")
    second.send(signal.SIGTERM)
    check_end(report, "a member that leaves ends with 85", second, 85, "left",
              node="b", reason="signal")
    lead.send(signal.SIGTERM)
    check_end(report, "the run is stopped: so does the other one", first, 85,
              "left", node="a", reason="stopped")
    check_end(report, "  and the coordinator ends well", lead, 0)
    lead, first, second = start("members_over", *SHORT)
    for run, name in ((first, "a"), (second, "b")):
        check_end(report, f"the run is over: member {name} ends with 0", run, 0,
                  "over", node=name)
    lead.end()
    lead, first, second = start("cpu_time", *LONG)
    first.until("checkpoint")
    os.kill(child_of(child_of(second.process.pid)), signal.SIGXCPU)
    check_end(report, "a member leaves at the end of its worker's CPU time",
              second, 85, "left", node="b", reason="signal")
    os.kill(lead.process.pid, signal.SIGSTOP)  # nobody lets it go
    first.interrupt_twice("press Ctrl-C again to quit without")
    check_end(report, "a member whose user insists ends with 130", first, 130,
              "left", node="a", reason="signal")
    lead.process.kill()
    lead, first, second = start("insisted", *LONG)
    first.until("checkpoint")
    os.kill(first.process.pid, signal.SIGSTOP)  # it does not stop
    lead.interrupt_twice("press Ctrl-C again to quit and leave")
    check_end(report, "and a coordinator", lead, 130)


def main():
    report = Report()
    with tempfile.TemporaryDirectory(prefix="skein-signals.") as name:
        folder = pathlib.Path(name)
        try:
            make_files(folder)
            check_train(report, folder)
            check_slow_save(report, folder)
            check_interrupts(report, folder)
            check_ignored(report, folder)
            check_early(report, folder)
            check_early_nodes(report, folder)
            check_children(report, folder)
            check_limits(report, folder)
            check_unread(report, folder)
            check_terminal(report, folder)
            check_verbs(report, folder)
            check_evaluations(report, folder)
            check_pasted(report, folder)
            check_folder(report, folder)
            check_requeue_train(report, folder)
            check_requeue_nodes(report, folder)
            check_requeue_members(report, folder)
        except TimeoutError as late:
            report.check("nothing hangs", False, late)
        finally:
            signal.alarm(0)
            for process in Run.started:
                process.kill()
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
