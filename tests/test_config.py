"""Settings: which source wins, where a value came from, and what is refused."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brimful.config import KEYS, load
from brimful.model.errors import ConfigError


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home/.config/brimful").mkdir(parents=True)
    (tmp_path / "project/deep").mkdir(parents=True)
    return tmp_path


def loaded(home: Path, given: dict[str, str | None] | None = None, **env: str):
    config = load(given, {"HOME": str(home / "home"), **env}, home / "project/deep")
    return {value.key.name: (value.value, value.origin) for value in config}


def test_every_source_wins_over_the_ones_behind_it(home):
    assert loaded(home)["region"] == ("us-east-1", "default")
    user = home / "home/.config/brimful/config.toml"
    user.write_text('region = "user-1"')
    assert loaded(home)["region"] == ("user-1", str(user))
    project = home / "project/brimful.toml"
    project.write_text('region = "project-1"')
    assert loaded(home)["region"] == ("project-1", str(project))
    assert loaded(home, BRIMFUL_REGION="env-1")["region"] == ("env-1", "environment")
    assert loaded(home, {"region": "line-1"}, BRIMFUL_REGION="env-1")["region"] == ("line-1", "command line")
    assert loaded(home, {"region": None})["region"] == ("project-1", str(project))


def test_a_section_of_pyproject_counts_and_the_nearest_file_wins(home):
    outer = home / "project/pyproject.toml"
    outer.write_text('[tool.brimful]\nregion = "outer-1"')
    assert loaded(home)["region"] == ("outer-1", str(outer))
    inner = home / "project/deep/brimful.toml"
    inner.write_text('fail_on = "high"')
    assert loaded(home)["region"] == ("us-east-1", "default")
    assert loaded(home)["fail_on"] == ("high", str(inner))


@pytest.mark.parametrize("text", ["not toml [", "tool = 3", "[tool]\nother = 1", '[tool.other]\nx = "\\q"'])
def test_a_pyproject_that_is_not_about_brimful_is_left_alone(home, text):
    (home / "project/pyproject.toml").write_text(text)
    assert loaded(home)["region"] == ("us-east-1", "default")


def test_paths_are_relative_to_the_file_that_names_them(home):
    (home / "project/brimful.toml").write_text('inventory = "fleet/machines.toml"\nrun_dir = "~/runs"')
    found = loaded(home)
    assert found["inventory"][0] == str(home / "project/fleet/machines.toml")
    assert found["run_dir"][0] == os.path.expanduser("~/runs")  # noqa: PTH111 - what a shell user expects


def test_state_and_data_follow_xdg(home):
    found = loaded(home)
    assert found["run_dir"][0] == str(home / "home/.local/state/brimful/runs")
    assert found["catalog_dir"][0] == str(home / "home/.local/share/brimful/catalog")
    assert loaded(home, XDG_STATE_HOME="/elsewhere")["run_dir"][0] == "/elsewhere/brimful/runs"
    assert loaded(home, XDG_STATE_HOME="relative")["run_dir"] == found["run_dir"]


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ('regoin = "x"', "regoin is no setting", "did you mean region?"),
        ('colour = "x"', "colour is no setting", "remove colour"),
        ("region = 3", "region cannot be 3", "set region to a text"),
        ('region = ""', "region cannot be ''", "set region to a text"),
        ("run_dir = true", "run_dir cannot be True", "set run_dir to a path"),
        ('fail_on = "hihg"', "fail_on cannot be 'hihg'", "one of never, info, low, medium, high"),
    ],
)
def test_a_wrong_key_or_value_names_file_key_and_what_is_expected(home, text, what, fix):
    file = home / "project/brimful.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        loaded(home)
    assert caught.value.what.startswith(what)
    assert str(file) in caught.value.what
    assert fix in caught.value.fix


def test_a_tool_section_that_is_no_table_is_refused(home):
    (home / "project/pyproject.toml").write_text("[tool]\nbrimful = 3")
    with pytest.raises(ConfigError, match=r"tool\.brimful cannot be 3"):
        loaded(home)


@pytest.mark.parametrize("content", [b"a = [", b"\xff\xfe", b"a = 1\na = 2"])
def test_a_file_that_is_no_toml_is_refused(home, content):
    (home / "project/brimful.toml").write_bytes(content)
    with pytest.raises(ConfigError, match="cannot be read"):
        loaded(home)


def test_a_byte_order_mark_is_passed_over(home):
    (home / "project/brimful.toml").write_bytes(b'\xef\xbb\xbfregion = "eu-west-1"\n')
    assert loaded(home)["region"][0] == "eu-west-1"


def test_a_configuration_that_is_a_folder_or_a_link_to_nowhere_is_refused_and_not_passed_over(home):
    (home / "project/brimful.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot be read") as caught:
        loaded(home)
    assert "directory" in caught.value.why
    (home / "project/brimful.toml").rmdir()
    (home / "project/brimful.toml").symlink_to("nowhere")
    with pytest.raises(ConfigError, match="cannot be read"):
        loaded(home)


def test_a_broken_pyproject_that_is_about_brimful_is_refused(home):
    (home / "project/pyproject.toml").write_text('[tool.brimful]\nregion = "eu-west-1\n')
    with pytest.raises(ConfigError, match=r"pyproject\.toml cannot be read"):
        loaded(home)


@pytest.mark.parametrize("value", ["", "relative"])
def test_an_empty_home_is_the_one_that_the_system_knows_and_never_the_root(home, value):
    mine = pwd.getpwuid(os.getuid()).pw_dir
    assert loaded(home, HOME=value)["run_dir"][0] == f"{mine}/.local/state/brimful/runs"


def test_a_user_without_a_home_is_told_to_name_one(home, monkeypatch):
    def nobody(_: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(ConfigError, match="no home folder") as caught:
        loaded(home, HOME="")
    assert "HOME=" in caught.value.fix


@pytest.mark.parametrize("value", ["~nobody-has-this-name/runs", "a\\u0000b"])
def test_a_path_that_cannot_be_is_refused(home, value):
    (home / "project/brimful.toml").write_text(f'run_dir = "{value}"')
    with pytest.raises(ConfigError, match="run_dir cannot be") as caught:
        loaded(home)
    assert "a path" in caught.value.fix


def test_a_working_directory_that_is_gone_is_an_error_for_people(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(ConfigError, match="working directory"):
        load(env={"HOME": str(tmp_path)})


def test_a_misspelt_variable_is_told_the_right_name(home):
    with pytest.raises(ConfigError, match="BRIMFUL_REGOIN is no setting") as caught:
        loaded(home, BRIMFUL_REGOIN="x")
    assert caught.value.fix == "did you mean BRIMFUL_REGION?"
    assert loaded(home, BRIMFUL_PURE="1")["region"][1] == "default"


@given(st.binary(max_size=80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_file_breaks_the_reader(home, junk):
    (home / "project/brimful.toml").write_bytes(junk)
    try:
        assert set(loaded(home)) == {key.name for key in KEYS}
    except ConfigError as error:
        assert error.fix  # noqa: PT017 - both outcomes are right
