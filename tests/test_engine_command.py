from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.engines.command import CommandEngine
from brimful.model.errors import BrimfulError, DataError, Unavailable, UsageError
from brimful.model.hardware import Precision
from brimful.model.work import Mode, Setting, Workload
from brimful.testing import check_engine, fake_device

CPU, GPU = fake_device("1xCPU"), fake_device("1xL4")


def command(line: str) -> Workload:
    return Workload(model=line, mode=Mode.COMMAND)


def setting(**known: object) -> Setting:
    options = {name: str(known.pop(name)) for name in ("cwd", "timeout_s", "env") if name in known}
    return Setting(engine="command", options=options, **known)


def load(line: str, **known: object):
    return CommandEngine("").load(command(line), setting(**known))


def alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(happened, limit_s: float = 10.0) -> None:
    deadline = time.monotonic() + limit_s
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_the_program_runs_to_its_end_once_per_call(tmp_path):
    runner = load(f"sh -c 'echo done >> {tmp_path}/log'")
    runner.run()
    runner.run()
    assert (tmp_path / "log").read_text() == "done\ndone\n"


def test_what_it_used_of_the_cpu_and_the_memory_is_measured():
    program = "x = bytearray(80_000_000); sum(i * i for i in range(2_000_000))"
    runner = load(f'{sys.executable} -c "{program}"')
    assert (runner.cpu_s, runner.peak_memory_bytes) == (None, None)
    runner.run()
    assert 0.02 < runner.cpu_s < 60
    assert 80_000_000 < runner.peak_memory_bytes < 2_000_000_000


def test_the_children_of_the_program_count_too():
    busy = f"{sys.executable} -c 'sum(range(20_000_000))'"
    runner = load(f'sh -c "{busy}; true"')
    runner.run()
    assert runner.cpu_s > 0.05


@pytest.mark.parametrize(
    ("line", "what", "why"),
    [
        ("sh -c 'echo first; echo the reason >&2; exit 3'", "failed with exit status 3", "first | the reason"),
        ("sh -c 'exit 1'", "failed with exit status 1", "it printed nothing"),
        ("sh -c 'kill -TERM $$'", "was ended by SIGTERM", "it printed nothing"),
        ("sh -c 'kill -KILL $$'", "was ended by SIGKILL", "out of memory"),
        ("sh -c 'printf \"\\033[31mred\"; exit 2'", "status 2", "\\x1b[31mred"),
    ],
)
def test_a_program_that_fails_says_why(line, what, why):
    with pytest.raises(DataError) as caught:
        load(line).run()
    assert what in caught.value.what
    assert why in caught.value.why


def test_figures_of_a_failed_call_are_kept_and_those_of_an_earlier_one_are_not():
    runner = load("sh -c 'exit 1'")
    with pytest.raises(DataError):
        runner.run()
    assert runner.cpu_s is not None


def test_only_the_end_of_a_long_output_is_kept():
    runner = load(f"{sys.executable} -c \"print('x' * 10_000_000); print('the end')\"")
    runner.run()
    assert len(runner.output) == 64 * 1024
    assert runner.output.endswith(b"the end\n")


def test_a_program_that_takes_too_long_is_ended_with_its_children(tmp_path):
    runner = load(f"sh -c 'sleep 60 & echo $! > {tmp_path}/pid; wait'", timeout_s="300ms")
    start = time.monotonic()
    with pytest.raises(DataError, match=r"did not end within 0\.3 s"):
        runner.run()
    assert time.monotonic() - start < 10
    wait_for(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_what_a_program_leaves_running_is_ended(tmp_path):
    load(f"sh -c 'sleep 60 & echo $! > {tmp_path}/pid'").run()
    wait_for(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_close_ends_a_running_program_and_nobody_else(tmp_path):
    with Path(os.devnull).open() as null:
        bystander = os.posix_spawn(
            "/bin/sleep", ["sleep", "60"], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null.fileno(), 0)]
        )
    runner = load(f"sh -c 'echo $$ > {tmp_path}/pid; sleep 60'")
    caught: list[BaseException] = []

    def run() -> None:
        try:
            runner.run()
        except DataError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    runner.close()
    runner.close()
    thread.join(10)
    assert not thread.is_alive()
    assert not alive(int((tmp_path / "pid").read_text()))
    assert "SIGKILL" in str(caught[0])
    assert alive(bystander)
    os.kill(bystander, signal.SIGTERM)
    os.waitpid(bystander, 0)
    with pytest.raises(UsageError, match="was closed"):
        runner.run()


def test_an_interrupt_ends_the_program_and_goes_on_up(tmp_path):
    runner = load(f"sh -c 'echo $$ > {tmp_path}/pid; sleep 60'")
    me = threading.main_thread().ident

    def interrupt() -> None:
        wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
        signal.pthread_kill(me, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        runner.run()
    thread.join()
    assert not alive(int((tmp_path / "pid").read_text()))


def test_the_options_set_the_folder_and_the_environment(tmp_path):
    runner = load("sh -c 'pwd; echo \"$A/$B/$HOME\"'", cwd=tmp_path, env="A=1 B='x y'")
    runner.run()
    assert runner.output.decode().splitlines() == [str(tmp_path.resolve()), f"1/x y/{os.environ['HOME']}"]


def test_the_program_gets_no_input():
    load("sh -c 'read line && exit 5 || exit 0'").run()


def test_the_setting_goes_where_the_command_line_has_a_place():
    runner = load(
        "echo {batch} --threads={threads} {precision} '{other}'", batch=8, threads=4, precision=Precision.BF16
    )
    runner.run()
    assert runner.output == b"8 --threads=4 bf16 {other}\n"


@pytest.mark.parametrize(
    ("line", "known", "what"),
    [
        ("echo", {"batch": 8}, "has no place for batch 8"),
        ("echo", {"threads": 2}, "has no place for threads 2"),
        ("echo {threads}", {}, "wants {threads}"),
        ("echo 'open", {}, "cannot be run"),
        ("", {}, "cannot be run"),
        ("echo", {"timeout_s": "soon"}, "timeout_s is 'soon'"),
        ("echo", {"timeout_s": "-1"}, "timeout_s is '-1'"),
        ("echo", {"env": "NOVALUE"}, "env holds 'NOVALUE'"),
    ],
)
def test_what_would_be_measured_wrongly_is_refused(line, known, what):
    with pytest.raises(UsageError) as caught:
        load(line, **known)
    assert what in caught.value.what


def test_an_unknown_option_is_refused_with_the_nearest_one():
    with pytest.raises(UsageError) as caught:
        CommandEngine("").load(command("echo"), Setting(engine="command", options={"timeout": "3"}))
    assert caught.value.fix == "did you mean timeout_s?"


@pytest.mark.parametrize("line", ["no-such-program-here", "/no/such/program", "./no-such", "/"])
def test_a_program_that_is_not_there_is_unavailable(line):
    with pytest.raises(Unavailable, match="cannot be run"):
        load(line)
    answer = CommandEngine("").supports(command(line), CPU)
    assert not answer.yes
    assert "cannot be run" in answer.reason


def test_a_file_that_cannot_be_executed_is_unavailable(tmp_path):
    script = tmp_path / "script"
    script.write_text("echo\n")
    with pytest.raises(Unavailable) as caught:
        load(str(script))
    assert "not executable" in caught.value.why
    script.chmod(0o755)  # executable now, and still no program
    with pytest.raises(Unavailable, match="cannot be started"):
        load(str(script)).run()
    with pytest.raises(Unavailable, match="cannot be started"):
        load("echo", cwd=tmp_path / "nowhere").run()


def test_a_program_is_looked_for_in_its_working_directory(tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho here\n")
    script.chmod(0o755)
    runner = load("./script", cwd=tmp_path)
    runner.run()
    assert runner.output == b"here\n"


def test_a_program_is_not_supposed_to_use_a_gpu_unless_it_is_said():
    answer = CommandEngine("").supports(command("echo"), GPU)
    assert not answer.yes
    assert "command:gpu" in answer.reason
    assert CommandEngine("gpu").supports(command("echo"), GPU).yes
    assert not CommandEngine("gpu").supports(command("echo"), CPU).yes
    assert CommandEngine("any").supports(command("echo"), GPU).yes
    with pytest.raises(UsageError, match="'toaster'"):
        CommandEngine("cpu,toaster")


def test_only_commands_are_run():
    model = Workload(model="resnet50.onnx", mode=Mode.INFERENCE)
    assert "mode is inference" in CommandEngine("").supports(model, CPU).reason
    with pytest.raises(UsageError, match="is no command"):
        CommandEngine("").load(model, setting())


def test_the_command_engine_keeps_the_promises_of_an_engine(tmp_path):
    log = tmp_path / "log"
    log.touch()
    check_engine(
        lambda: CommandEngine(""),
        runs=(command(f"sh -c 'sleep 0.05; echo done >> {log}'"), CPU, setting()),
        refuses=(command("no-such-program-here"), CPU),
        calls=lambda: len(log.read_text().splitlines()),
    )


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_command_line_is_answered_and_loaded_or_refused(line):
    engine = CommandEngine("")
    answer = engine.supports(command(line), CPU)
    assert answer.reason
    try:
        engine.load(command(line), setting())
    except BrimfulError:
        return
    assert answer.yes
