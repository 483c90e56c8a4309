#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A mutation run: are there tests that notice when the code is wrong?

usage: mutants.py [N] [--seed S] [--found PERCENT] [--only TEXT] [--jobs J] [--unmet]

Copies the checkout to build/mutants/tree, places all mutants in it (mutate.py), and builds that twice: as it is, and
with the sanitizers of the preset asan, since ./run tests runs the tests with both. One run of the tests records which
mutants each of them meets. Then N mutants are drawn, and against each those tests run that meet it, the fast ones
first, until one fails: twice, so that chance finds none. Those that none finds are tried with the sanitizers. At the
end a table of those that survived, beginning with those that no test meets at all.
equivalent.txt lists mutants that change nothing a test could see, each with its reason; they do not count.
Exit 1 where less than PERCENT of those that count were found, or more than 8 % of all were equivalent.
"""
import argparse
import collections
import ctypes
import hashlib
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

import mutate

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.path.join(ROOT, "build", "mutants")
TREE = os.path.join(FOLDER, "tree")
PLAIN, CHECKED = os.path.join(FOLDER, "build"), os.path.join(FOLDER, "asan")
EQUIVALENT = os.path.join(HERE, "equivalent.txt")
KINDS = {"unit", "simulation", "conformance", "attack", "integration", "fault", "fuzz"}
KINDS_CHECKED = KINDS - {"fault"}  # as in ./run tests
TOO_LONG = re.compile(r".*_(sweep|storm)")  # minutes each: they stop at every instruction, or kill at any time
NONE, RECORD = 819200, 500000  # as in mutants.h
SAME_WITHOUT = (".md", "run", "mutants/mutants.py", "mutants/equivalent.txt")  # the tree is the same whatever is in these,
SAME_BELOW = "tests/run/"  # and in those below
EQUIVALENT_MOST = 8  # percent
MET_SIZE = 1000000  # more than there are mutants
KEPT_EACH = 24  # tests are recorded before they are written down
LEAST = 10.0  # seconds that a test has at least
SPENT_MOST = {"plain": 100.0, "asan": 30.0}  # seconds of tests for one mutant: who survives so much has survived
IN_A_TEST = re.compile(r"tests/(unit|simulation|conformance|attack|integration|fault|fuzz|support)/(?!.*modules/).*")


# ---- the tree ----

def sources():
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\0")
    return sorted(n for n in names if n and os.path.isfile(os.path.join(ROOT, n)))


def digest(names):
    sums = hashlib.sha256()
    for name in names:
        with open(os.path.join(ROOT, name), "rb") as file:
            sums.update(name.encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return sums.hexdigest()


def copy(names):
    """What was there before, by path: its text and times."""
    before = {}
    for folder, _, files in os.walk(TREE):
        for file in files:
            path = os.path.join(folder, file)
            if os.path.relpath(path, TREE) not in names:
                os.unlink(path)
                continue
            with open(path, "rb") as old:
                before[path] = old.read(), os.stat(path)
    for name in names:
        source, to = os.path.join(ROOT, name), os.path.join(TREE, name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copyfile(source, to)
        shutil.copymode(source, to)
    return before


def keep_times(before):
    """What is written again as it was is not built again."""
    for path, (text, about) in before.items():
        with open(path, "rb") as file:
            same = file.read() == text
        if same:
            os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


def write_json(name, what):
    """All of it, or nothing."""
    path = os.path.join(FOLDER, name)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(what, file)
    os.replace(path + ".new", path)


def run_logged(name, command):
    print(f"{name} ...", file=sys.stderr, flush=True)
    log = os.path.join(FOLDER, f"{name}.log")
    with open(log, "w", encoding="utf-8") as out:
        if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode != 0:
            sys.exit(f"error: {name} failed: {log}")


def place():
    commands = {}
    with open(os.path.join(PLAIN, "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            commands.setdefault(os.path.relpath(entry["file"], TREE), shlex.split(entry["command"]))
    placer = mutate.Placer(TREE)
    for path in sorted(p for p in commands if p.startswith(mutate.ROOMS)):
        arguments = [a for a in commands[path] if a.startswith(("-I", "-D", "-std"))]
        placer.unit(os.path.join(TREE, path), arguments)
    placer.finish()
    return placer.mutants


def build_all():
    for build in (PLAIN, CHECKED):
        run_logged(f"build {os.path.basename(build)}", ["cmake", "--build", build])


def prepare():
    """The mutants; the tree is copied, and built, if it is not there as it is to be. Also the sum of all that is not
    only a test: what was recorded of a test counts as long as this and its own program are the same."""
    os.makedirs(FOLDER, exist_ok=True)
    names, listed = sources(), os.path.join(FOLDER, "mutants.json")
    names_counted = [n for n in names if not n.endswith(SAME_WITHOUT) and not n.startswith(SAME_BELOW)]
    now, base = digest(names_counted), digest(n for n in names_counted if not IN_A_TEST.fullmatch(n))
    if os.path.exists(listed):
        with open(listed, encoding="utf-8") as file:
            known = json.load(file)
        if known["digest"] == now:
            build_all()  # it may have been broken off
            return [mutate.Mutant(*m) for m in known["mutants"]], base
        os.unlink(listed)
    before = copy(set(names))
    # A variable that a mutant does not set holds a pattern; else the compiler takes it for set.
    flags = (f"-O1 -g0 -w -ftrivial-auto-var-init=pattern -DMUTANTS_FOLDER='\"{FOLDER}\"' -DMUTANTS_SIZE={MET_SIZE} "
             f"-include {TREE}/tests/mutants/mutants.h")
    for build, sanitize in ((PLAIN, ""), (CHECKED, "address,undefined")):
        run_logged(f"configure {os.path.basename(build)}",
                   ["cmake", "-S", TREE, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DWITH_LTO=OFF",
                    "-DRAPAHUB_WERROR=OFF", f"-DRAPAHUB_SANITIZE={sanitize}", f"-DRAPAHUB_LOCK_RANKS={'ON' if sanitize else 'OFF'}",
                    f"-DCMAKE_C_FLAGS={flags}"])
    print("placing mutants ...", file=sys.stderr, flush=True)
    mutants = place()
    keep_times(before)
    write_json("mutants.json", {"digest": now, "mutants": mutants})
    build_all()
    return mutants, base


# ---- tests ----

Test = collections.namedtuple("Test", "name command folder variables limit alone sum")


def list_tests(build, kinds, before):
    """By name; before: what stands in front of each command."""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True).stdout
    tests = {}
    for test in json.loads(shown)["tests"]:
        about = {p["name"]: p["value"] for p in test.get("properties", [])}
        name = test["name"]
        if "command" in test and kinds & set(about.get("LABELS", [])) and not TOO_LONG.fullmatch(name):
            tests[name] = Test(name, before + test["command"], about.get("WORKING_DIRECTORY", build),
                               dict(v.split("=", 1) for v in about.get("ENVIRONMENT", [])),
                               float(about.get("TIMEOUT", 60)), about.get("RUN_SERIAL", False), sum_of(test["command"]))
    return tests


def sum_of(command):
    with open(command[0], "rb") as file:
        return hashlib.sha256(" ".join(command).encode() + file.read()).hexdigest()


def near_addresses():
    """As in ./run: the sanitizers cannot map their memory where addresses are spread too far."""
    command = ["setarch", os.uname().machine, "-R"]
    return command if subprocess.run([*command, "true"], check=False).returncode == 0 else []


def wall():
    """In front of each test: process ids of its own, so that a mutant cannot kill what is not its own, nor leave anything
    running. Nothing where the system does not have it; then only children are ended."""
    own = [] if os.geteuid() == 0 else ["--user", "--map-current-user"]
    command = ["unshare", *own, "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh"]
    try:
        works = subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    except FileNotFoundError:
        works = False
    if not works:
        print("warning: no process ids apart: mutants may kill other processes of yours", file=sys.stderr)
    return command if works else []


def end_all(process):
    """The program, its process group, and what it left to us, who are its subreaper."""
    for number in [process.pid] + children_of(threading.get_native_id()):
        for end in (os.killpg, os.kill):
            try:
                end(number, signal.SIGKILL)
            except OSError:
                pass
    process.wait()


def children_of(task):
    try:
        with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
            return [int(n) for n in file.read().split()]
    except OSError:
        return []


def run_test(test, number, limit):
    """How long it took, and whether it passed; number: a mutant, or what is to be recorded."""
    def begin():
        hard = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[1]
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (number, hard))

    start = time.monotonic()
    process = subprocess.Popen(test.command, cwd=test.folder, env={**os.environ, **test.variables}, preexec_fn=begin,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        passed = process.wait(limit) == 0
    except subprocess.TimeoutExpired:
        passed = False
    end_all(process)
    return time.monotonic() - start, passed


def record(tests, count, base, jobs):
    """Of each test: how long it takes, and which mutants it meets. Who does not pass without any is left out. What was
    recorded of the same program counts, also where the run was broken off."""
    kept = os.path.join(FOLDER, "met.json")
    known = {"base": base, "tests": {}}
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as file:
            found = json.load(file)
        if found["base"] == base:
            known["tests"] = {n: f for n, f in found["tests"].items()
                              if f["passed"] and n in tests and f["sum"] == tests[n].sum}

    def one(test, lane):
        path = os.path.join(FOLDER, f"met.{lane:02}")
        with open(path, "wb") as file:
            file.truncate(MET_SIZE)
        os.chmod(path, 0o666)
        spent, passed = run_test(test, RECORD + lane, 2 * test.limit)
        with open(path, "rb") as file:
            met = [n for n, byte in enumerate(file.read(count + 1)) if byte]
        if not passed:  # it may be the recording
            spent, passed = run_test(test, NONE, 2 * test.limit)
        known["tests"][test.name] = {"sum": test.sum, "spent": spent, "met": met, "passed": passed}

    left = sorted((t for t in tests.values() if t.name not in known["tests"]), key=lambda t: (t.alone, t.name))
    for at in range(0, len(left), KEPT_EACH):
        in_lanes(left[at:at + KEPT_EACH], one, jobs, f"recording {at} of {len(left)}")
        write_json("met.json", known)
    for name in sorted(n for n, f in known["tests"].items() if not f["passed"]):
        print(f"left out, for it fails without a mutant: {name}")
    return {n: f for n, f in known["tests"].items() if f["passed"]}


def in_lanes(items, work, jobs, title):
    """Each item once, `jobs` at a time. Each lane is a thread, which is the parent of what it starts."""
    left, lock, done, total = list(items)[::-1], threading.Lock(), [0], len(items)

    def lane(number):
        while True:
            with lock:
                if not left:
                    return
                item = left.pop()
            work(item, number)
            with lock:
                done[0] += 1
                if sys.stderr.isatty() or done[0] % 25 == 0 or done[0] == total:
                    print(f"{title}: {done[0]} of {total}", file=sys.stderr, flush=True)

    lanes = [threading.Thread(target=lane, args=(n,)) for n in range(jobs)]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        thread.join()


# ---- mutants ----

def key(mutant):
    return " | ".join((mutant.file, mutant.function, mutant.operator, f"{mutant.before} -> {mutant.after}", mutant.source))


def read_equivalent():
    """By file, function, operator, change and source line, so that no line number has to be kept true: the reason."""
    reasons, name = {}, None
    with open(EQUIVALENT, encoding="utf-8") as file:
        for at, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            if line.startswith("    "):
                if name is None:
                    sys.exit(f"error: {EQUIVALENT}:{at}: a reason without a mutant")
                reasons[name] = line.strip()
                name = None
            elif name is None:
                name = line
            else:
                sys.exit(f"error: {EQUIVALENT}:{at}: the mutant before has no reason; one line that is indented")
    return reasons


class Suite:
    """The tests of one build, and how long each takes without a mutant: measured when it is first asked for. The
    sanitizers find what they find in the first tests that come by."""

    def __init__(self, tests, spent):
        self.tests, self.spent = tests, dict(spent)
        self.locks = collections.defaultdict(threading.Lock)

    def normal(self, name):
        """None: it does not pass, or is not there."""
        with self.locks[name]:
            if name not in self.spent:
                test = self.tests.get(name)
                took, passed = run_test(test, NONE, 2 * test.limit) if test else (0, False)
                self.spent[name] = took if passed else None
        return self.spent[name]

    def find(self, number, meeting, most):
        """The test that found it, or None."""
        spent = 0.0
        for name in meeting:
            normal = self.normal(name)
            if normal is None:
                continue
            if spent + normal > most:
                break
            limit = LEAST + 3 * normal
            took, passed = run_test(self.tests[name], number, limit)
            spent += took
            if not passed and not run_test(self.tests[name], number, limit)[1]:
                return name
        return None


def sums_of(suite, names):
    return {n: suite.tests[n].sum for n in names if n in suite.tests}


def read_results(base, meeting, suites):
    """What runs before had found out, of the same code, with tests that are the same still."""
    path = os.path.join(FOLDER, "results.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        known = json.load(file)
    if known["base"] != base:
        return {}
    by_number = {int(n): r for n, r in known["results"].items()}
    return {n: r for n, r in by_number.items()
            if r["sums"] == sums_of(suites[r["suite"]], [r["found"]] if r["found"] else meeting[n])}


def try_mutant(number, meeting, suites):
    for name, suite in suites.items():
        found = suite.find(number, meeting, SPENT_MOST[name])
        if found:
            return {"found": found, "suite": name, "sums": sums_of(suite, [found])}
    first = next(iter(suites))
    return {"found": None, "suite": first, "sums": sums_of(suites[first], meeting)}


def draw(mutants, options):
    numbers = [n for n, m in enumerate(mutants, 1) if not options.only or options.only in key(m)]
    random.Random(options.seed).shuffle(numbers)
    return numbers[:options.count]


def who_meets(known):
    """Of each mutant: the tests that meet it, first those that are fast and look at little else."""
    meeting = collections.defaultdict(list)
    for name in sorted(known, key=lambda n: known[n]["spent"] * len(known[n]["met"])):
        for number in known[name]["met"]:
            meeting[number].append(name)
    return meeting


def show_unmet(mutants, known, options):
    """Lines of code, each with its mutants, that no test meets."""
    meeting = who_meets(known)
    lines = collections.OrderedDict()
    for number, mutant in enumerate(mutants, 1):
        if options.only in key(mutant) and not meeting.get(number):
            lines.setdefault((mutant.file, mutant.line), []).append(mutant)
    for (file, line), unmet in sorted(lines.items()):
        print(f"{file}:{line} {unmet[0].function}: {len(unmet)}: {unmet[0].source}")
    print(f"{sum(len(m) for m in lines.values())} of {len(mutants)} mutants in {len(lines)} lines are met by no test")


def report(drawn, mutants, results, meeting, reasons, options):
    tally = collections.defaultdict(collections.Counter)
    survivors = []
    for number in drawn:
        mutant, found = mutants[number - 1], results[number]["found"]
        kind = "found" if found else "equivalent" if key(mutant) in reasons else "survived"
        tally[mutant.operator][kind] += 1
        if kind == "survived":
            survivors.append(number)
    for number in sorted(survivors, key=lambda n: (len(meeting[n]) > 0, mutants[n - 1][:3])):
        mutant, met = mutants[number - 1], len(meeting[number])
        print(f"{'survived' if met else 'not met'}: {number} {mutant.file}:{mutant.line} {mutant.function}: "
              f"{mutant.operator}: {mutant.before} -> {mutant.after or '(left out)'}; met by {met} tests\n    {key(mutant)}")
    for operator in sorted(tally):
        print(f"{operator:<11}" + "".join(f"{tally[operator][k]:6} {k}" for k in ("found", "survived", "equivalent")))
    all_of = sum(tally.values(), collections.Counter())
    counted = all_of["found"] + all_of["survived"]
    share = 100 * all_of["found"] / counted if counted else 0
    alike = 100 * all_of["equivalent"] / len(drawn)
    print(f"{len(drawn)} of {len(mutants)} mutants, seed {options.seed}: {all_of['found']} found, {all_of['survived']} survived, "
          f"{all_of['equivalent']} equivalent: found {share:.1f} % of those that count, equivalent {alike:.1f} % of all")
    return share >= options.found and alike <= EQUIVALENT_MOST


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=400, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--found", type=float, default=92, metavar="PERCENT")
    parser.add_argument("--only", default="", metavar="TEXT", help="only of those whose line of equivalent.txt has it")
    parser.add_argument("--unmet", action="store_true", help="no run: the lines that no test meets")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if not 1 <= options.jobs <= 100:
        parser.error("--jobs: 1 to 100")
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    mutants, base = prepare()
    behind = wall()
    suites = {"plain": Suite(list_tests(PLAIN, KINDS, behind), {}),
              "asan": Suite(list_tests(CHECKED, KINDS_CHECKED, behind + near_addresses()), {})}
    known = record(suites["plain"].tests, len(mutants), base, options.jobs)
    suites["plain"].spent = {name: found["spent"] for name, found in known.items()}
    if options.unmet:
        show_unmet(mutants, known, options)
        return 0
    drawn, reasons = draw(mutants, options), read_equivalent()
    if not drawn:
        sys.exit("error: no mutant is called so")
    meeting = who_meets(known)
    results, lock = read_results(base, meeting, suites), threading.Lock()

    def one(number, _lane):
        result = try_mutant(number, meeting[number], suites)
        with lock:
            results[number] = result
            write_json("results.json", {"base": base, "results": results})

    in_lanes([n for n in drawn if n not in results], one, options.jobs, "mutants")
    return 0 if report(drawn, mutants, results, meeting, reasons, options) else 1


if __name__ == "__main__":
    sys.exit(main())
