from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimful.clouds.inventory import InventoryCloud
from brimful.model.advice import Action
from brimful.model.errors import BrimfulError, CloudError, DataError, UsageError
from brimful.testing import check_cloud

MACHINES = """\
cloud = "basement"

[[machines]]
id = "gpu-01"
instance = "g6.xlarge"
region = "us-east-1"
state = "running"
owner = "vision"
purchase = "reserved"
usd_per_hour = 0.8
launched_at = 2026-01-31T12:00:00Z
tags = { team = "vision", keep = "no" }

[[machines]]
id = "gpu-02"
instance = "dgx"
"""


def write_with(log: Path, action: str) -> str:
    """Return the table of an action whose command leaves a line in a log."""
    program = "import sys; open(sys.argv[1], 'a').write(' '.join(sys.argv[2:]) + chr(10))"
    words = json.dumps([sys.executable, "-c", program, str(log), action, "{machine}", "--in={instance}"])
    return f"[actions.{action}]\ncommand = {words}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "machines.toml"


def cloud(path: Path, text: str | bytes) -> InventoryCloud:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return InventoryCloud(str(path))


def act(action: str = "stop", target: str = "gpu-01") -> Action:
    gap = {"saving_usd_per_month": "no price is known"}
    return Action(action=action, target=target, why="it is idle", evidence=("run/3",), missing=gap)


def test_machines_come_in_the_order_of_the_file(path):
    first, second = cloud(path, MACHINES).machines()
    assert (first.machine, first.cloud, first.instance, first.region) == (
        "gpu-01",
        "basement",
        "g6.xlarge",
        "us-east-1",
    )
    assert (first.owner, first.purchase, first.usd_per_hour, first.state) == ("vision", "reserved", 0.8, "running")
    assert first.launched_at == "2026-01-31T12:00:00+00:00"
    assert first.tags == {"team": "vision", "keep": "no"}
    assert (second.region, second.owner, second.usd_per_hour) == (None, None, None)
    assert second.missing["region"] == "the inventory does not say"
    assert "catalogue" in second.missing["usd_per_hour"]


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ('state = "Running"', "state", "running"),
        ('state = "InService"', "state", "running"),
        ('state = " STOPPED "', "state", "stopped"),
        ('state = "shutting_down"', "state", "shutting-down"),
        ('purchase = "Capacity Block"', "purchase", "capacity-block"),
        ('purchase = "On_Demand"', "purchase", "on-demand"),
        ('purchase = "ODCR"', "purchase", "odcr"),
    ],
)
def test_one_state_or_way_to_pay_is_one_word_however_it_is_written(path, line, field, value):
    (machine,) = cloud(path, f'[[machines]]\nid = "a"\ninstance = "x"\n{line}\n').machines()
    assert getattr(machine, field) == value


@pytest.mark.parametrize(("said", "meant"), [("EC2", "ec2"), ("SageMaker", "sagemaker"), ("Basement", "Basement")])
def test_the_clouds_that_practices_speak_of_are_known_in_any_case(path, said, meant):
    (machine,) = cloud(path, f'cloud = "{said}"\n[[machines]]\nid = "a"\ninstance = "x"\n').machines()
    assert machine.cloud == meant


def test_json_says_the_same_as_toml(path):
    raw = {
        "machines": [
            {"id": "a", "instance": "x", "tags": {"t": "1"}, "launched_at": "2026-01-31T12:00:00Z", "region": None}
        ]
    }
    (machine,) = cloud(path, json.dumps(raw)).machines()
    assert (machine.machine, machine.tags, machine.launched_at) == ("a", {"t": "1"}, "2026-01-31T12:00:00Z")
    assert machine.cloud == "inventory machines.toml"


def test_a_file_cannot_stop_a_machine_unless_it_says_how(path):
    inventory = cloud(path, MACHINES)
    assert inventory.machines()[0].actions == {}
    with pytest.raises(CloudError) as caught:
        inventory.do(act(), dry_run=True)
    assert "has no command for 'stop'" in caught.value.what
    assert "[actions.stop]" in caught.value.fix


def test_a_dry_run_shows_the_exact_command_and_runs_nothing(path):
    stop = (
        '[actions.stop]\ncommand = ["aws", "ec2", "stop-instances", "--instance-ids", "{machine}"]\ninverse = "start"\n'
    )
    start = '[actions.start]\ncommand = ["aws", "ec2", "start-instances", "--instance-ids", "{machine}"]\n'
    inventory = cloud(path, MACHINES + stop + start)
    assert inventory.machines()[1].actions == {"stop": "start", "start": ""}
    done = inventory.do(act(), dry_run=True)
    assert done.outcome == "would run: aws ec2 stop-instances --instance-ids gpu-01"
    assert (done.dry_run, done.inverse, done.evidence) == (True, "start", ("run/3",))
    undone = inventory.do(act("start"), dry_run=True)
    assert undone.missing["inverse"] == "the inventory names no action that undoes it"


def test_a_real_run_runs_the_command_without_a_shell(path, tmp_path):
    log = tmp_path / "log"
    inventory = cloud(path, MACHINES.replace("gpu-01", "a; touch x $(id)") + write_with(log, "stop"))
    done = inventory.do(act(target="a; touch x $(id)"), dry_run=False)
    assert log.read_text() == "stop a; touch x $(id) --in=g6.xlarge\n"
    assert done.outcome.startswith("ran: ")
    assert not done.dry_run


@pytest.mark.parametrize(
    ("command", "what", "why"),
    [
        ("sh -c 'echo no such machine; exit 4'", "failed with exit status 4", "no such machine"),
        ("sh -c 'exit 4'", "failed with exit status 4", "it printed nothing"),
        ("/no/such/program", "cannot be started", "No such file"),
        ("sleep 60", "did not end within 0.2 s", "may or may not have acted"),
    ],
)
def test_a_command_that_fails_is_an_error_that_says_what_came(path, command, what, why):
    words = command.split(" ", 2) if command.startswith("sh") else command.split()
    words = [word.strip("'") for word in words]
    text = MACHINES + f"[actions.stop]\ncommand = {json.dumps(words)}\ntimeout_s = 0.2\n"
    with pytest.raises(CloudError) as caught:
        cloud(path, text).do(act(), dry_run=False)
    assert what in caught.value.what
    assert why in caught.value.why


def test_a_long_output_is_cut_to_its_end(path):
    words = [sys.executable, "-c", "print('x' * 1_000_000 + 'end')"]
    done = cloud(path, MACHINES + f"[actions.stop]\ncommand = {json.dumps(words)}\n").do(act(), dry_run=False)
    assert len(done.outcome) < 3000
    assert done.outcome.endswith("xend")


def test_a_command_that_wants_what_is_not_known_is_not_run_by_half(path):
    text = MACHINES + '[actions.stop]\ncommand = ["stop", "{region}", "{machine}"]\n'
    inventory = cloud(path, text)
    assert inventory.do(act(), dry_run=True).outcome == "would run: stop us-east-1 gpu-01"
    with pytest.raises(CloudError, match="which is not known"):
        inventory.do(act(target="gpu-02"), dry_run=True)


def test_the_file_is_read_anew_at_every_look(path):
    inventory = cloud(path, MACHINES)
    assert inventory.look("gpu-01").state == "running"
    path.write_text(MACHINES.replace('state = "running"', 'state = "stopped"'))
    assert inventory.look("gpu-01").state == "stopped"


def test_a_machine_that_is_not_there_is_an_error_with_the_nearest_name(path):
    inventory = cloud(path, MACHINES)
    with pytest.raises(CloudError) as caught:
        inventory.look("gpu-1")
    assert "did you mean 'gpu-01'" in caught.value.fix
    with pytest.raises(CloudError, match="no machine"):
        inventory.do(act(target="nobody"), dry_run=True)


MACHINE = '[[machines]]\nid = "a"\ninstance = "x"\n'


@pytest.mark.parametrize(
    ("text", "why", "fix"),
    [
        ("machines = [\n", "end of document", "write TOML"),
        ("machines = 1\nx x\n", "line 2", "write TOML"),
        ('{"machines": [', "line 1 column", "write TOML"),
        (b"\xff\xfe", "invalid start byte", ""),
        ("[" * 100_000, "", ""),
        ('{"a":' + "[" * 100_000, "", ""),
        ("machines = 3", "machines is no list", "[[machines]]"),
        ("machines = [3]", "machines[0] is 3, which is no table", ""),
        ("[[machine]]\nid = 'a'\n", "the file has the unknown key 'machine'", "did you mean 'machines'"),
        (MACHINE + 'regoin = "eu"\n', "machines[0] has the unknown key 'regoin'", "did you mean 'region'"),
        ("[[machines]]\ninstance = 'x'\n", "machines[0].id is missing", ""),
        ("[[machines]]\nid = 'a'\n", "machines[0].instance is missing", ""),
        ("[[machines]]\nid = 7\ninstance = 'x'\n", "machines[0].id is 7, which is no text", "quotes"),
        ("[[machines]]\nid = '--force'\ninstance = 'x'\n", "begins with -", "as the cloud"),
        (MACHINE + MACHINE, "machines[1].id: 'a' is there twice", "its own id"),
        (MACHINE + "region = 3\n", "machines[0].region is 3, which is no text", ""),
        (MACHINE + "usd_per_hour = '0.8'\n", "machines[0]: usd_per_hour is '0.8'", ""),
        (MACHINE + "usd_per_hour = -1\n", "usd_per_hour is -1", ""),
        (MACHINE + "usd_per_hour = true\n", "usd_per_hour is True", ""),
        (MACHINE + "usd_per_hour = nan\n", "usd_per_hour is nan", ""),
        (MACHINE + "usd_per_hour = 1" + "0" * 400 + "\n", "machines[0]", ""),
        (MACHINE + "usd_per_hour = 1e308\n", "machines[0].usd_per_hour is 1e+308", "what one machine costs an hour"),
        (MACHINE + "state = 'flying'\n", "machines[0].state is 'flying'", "pending, running, stopping, stopped"),
        (MACHINE + "state = ''\n", "machines[0].state is ''", "pending"),
        (MACHINE + "state = 'runing'\n", "machines[0].state is 'runing'", "did you mean 'running'?"),
        (
            MACHINE + "region = 'a\\u001b[2J'\n".replace("'", '"'),
            "machines[0].region holds a character",
            "as the cloud",
        ),
        (MACHINE + "region = '-x'\n", "machines[0].region begins with -", "as the cloud"),
        ("[[machines]]\nid = 'a'\ninstance = '-x'\n", "machines[0].instance begins with -", "as the cloud"),
        ("[[machines]]\nid = \"a\\nb\"\ninstance = 'x'\n", "machines[0].id holds a character", "as the cloud"),
        (MACHINE + "tags = ['a']\n", "tags is ['a']", ""),
        (MACHINE + "tags = { n = 3 }\n", "tags[n] is 3", ""),
        (MACHINE + "launched_at = 'yesterday'\n", "machines[0].launched_at is 'yesterday'", "2026-01-31"),
        (MACHINE + "launched_at = 5\n", "which is no text", ""),
        ("cloud = 3\n", "cloud is 3, which is no text", ""),
        ("actions = 3\n", "actions is 3, which is no table", ""),
        ("[actions.stop]\n", "actions.stop.command is no list of words", "ssh"),
        ("[actions.stop]\ncommand = 'rm -rf /'\n", "actions.stop.command is no list of words", ""),
        ("[actions.stop]\ncommand = ['a', 3]\n", "no list of words", ""),
        ("[actions.stop]\ncommand = ['a', '{id}']\n", "whose {id} is not known", "{machine}"),
        ("[actions.stop]\ncommand = ['a']\ninverse = 'start'\n", "for which there is no command", "[actions.start]"),
        ("[actions.stop]\ncommand = ['a']\ninverse = 3\n", "actions.stop.inverse is 3", ""),
        ("[actions.stop]\ncommand = ['a']\ntimeout_s = 0\n", "timeout_s is 0", ""),
        ("[actions.stop]\ncommand = ['a']\ntimeout_s = nan\n", "timeout_s is nan", ""),
        ("[actions.stop]\ncommand = ['a']\nundo = 'b'\n", "the unknown key 'undo'", "command, inverse, timeout_s"),
        ('{"machines": [], "machines": []}', "'machines' is there twice", "keep one"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_wrong_is_said_with_its_key(path, text, why, fix):
    with pytest.raises(DataError) as caught:
        cloud(path, text).machines()
    assert why in caught.value.why
    assert fix in caught.value.fix
    assert str(path) in caught.value.what


def test_a_file_that_is_not_there_is_an_error(path, tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        InventoryCloud(str(path)).machines()
    with pytest.raises(DataError, match="cannot be read"):
        InventoryCloud(str(tmp_path)).machines()
    with pytest.raises(UsageError, match="no inventory file"):
        InventoryCloud("")


def test_the_inventory_keeps_the_promises_of_a_cloud(path, tmp_path):
    log = tmp_path / "log"
    log.touch()
    text = MACHINES + write_with(log, "stop") + 'inverse = "start"\n' + write_with(log, "start")
    cloud(path, text)
    check_cloud(lambda: InventoryCloud(str(path)), world=lambda: (log.read_text(), path.read_text()), act=act())
    assert log.read_text() == "stop gpu-01 --in=g6.xlarge\n"


FULL = MACHINES + '[actions.stop]\ncommand = ["a", "{machine}"]\ninverse = "start"\n[actions.start]\ncommand = ["b"]\n'
AS_JSON = json.dumps({"machines": [{"id": "a", "instance": "x"}], "actions": {"stop": {"command": ["a", "{machine}"]}}})
JUNK = [
    b"",
    b"=",
    b"\n",
    b'"',
    b"[[",
    b"{",
    b"\x00",
    b"9" * 5000,
    b"nan",
    b"null",
    b"\\ud800",
    b"1979-05-27",
    b"\xff",
    b"-",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.sampled_from([FULL, AS_JSON, ""]),
    at=st.floats(0, 1),
    cut=st.integers(0, 30),
    junk=st.one_of(st.sampled_from(JUNK), st.binary(max_size=40)),
)
def test_any_file_gives_machines_or_an_error_for_people(path, text, at, cut, junk):
    data = text.encode()
    where = int(at * len(data))
    inventory = cloud(path, data[:where] + junk + data[where + cut :])
    try:
        for machine in inventory.machines():
            for action in machine.actions:
                inventory.do(act(action, machine.machine), dry_run=True)
    except BrimfulError:
        return
