from __future__ import annotations

import json

import numpy as np
import pytest

from workers.imaging.metadata import Disagreement, merged_header


@pytest.mark.parametrize(
    ("times", "total"),
    [
        (["00:00.01", "00:00.02"], "00:00.03"),
        (["00:59.99", "00:00.02"], "01:00.01"),
        (["59:59.99", "00:00.01"], "01:00:00.00"),
        (["01:02:03.25", "30:00:00.50", "00:01.25"], "31:02:05.00"),
    ],
)
@pytest.mark.parametrize(
    "key",
    ["RenderTime", "cycles.View.Layer.render_time", "cycles.A.synchronization_time", "cycles.A.total_time"],
)
def test_times_are_summed(key: str, times: list[str], total: str) -> None:
    assert merged_header([{key: time} for time in times]) == {key: total}


def test_a_single_piece_keeps_its_time() -> None:
    assert merged_header([{"RenderTime": "00:07.10"}]) == {"RenderTime": "00:07.10"}


def test_a_time_that_cannot_be_read_or_is_missing_is_dropped() -> None:
    assert merged_header([{"RenderTime": "soon"}, {"RenderTime": "00:01.00"}]) == {}
    assert merged_header([{"RenderTime": "00:01.00"}, {}]) == {}


def test_what_all_pieces_say_is_kept_in_the_first_pieces_order() -> None:
    header = {"File": "a.blend", "Note": "x", "screenWindowCenter": np.zeros(2, np.float32)}

    assert list(merged_header([header, dict(reversed(header.items()))])) == list(header)


@pytest.mark.parametrize("key", ["Date", "Hostname", "Memory", "File", "something new"])
def test_what_differs_without_harm_is_dropped(key: str) -> None:
    assert merged_header([{key: "one", "Scene": "S"}, {key: "two", "Scene": "S"}]) == {"Scene": "S"}
    assert merged_header([{key: "one"}, {}]) == {}


@pytest.mark.parametrize("key", ["Software", "Frame", "colorInteropID", "view", "cycles.Any layer.samples"])
def test_what_makes_it_another_frame_is_refused(key: str) -> None:
    with pytest.raises(Disagreement, match=f"^their “{key}” differs: “one”, “two”$"):
        merged_header([{key: "one"}, {key: "one"}, {key: "two"}])
    with pytest.raises(Disagreement):
        merged_header([{key: "one"}, {}])


def test_what_follows_from_the_pixels_is_left_to_the_writer() -> None:
    assert merged_header([{"dataWindow": 1, "chunkCount": 3, "compression": 2, "name": "A"}]) == {}


def test_cryptomatte_manifests_are_united() -> None:
    key = "cryptomatte/290cd20/manifest"
    one, other = '{"Cube":"cb432898","Plane":"4159b52a"}', '{"Plane":"4159b52a","Käfer":"5dfdc764"}'

    united = merged_header([{key: one}, {key: other}])[key]

    assert united == '{"Cube":"cb432898","Plane":"4159b52a","Käfer":"5dfdc764"}'
    assert json.loads(united).keys() == {"Cube", "Plane", "Käfer"}


def test_equal_manifests_keep_their_very_text() -> None:
    key, text = "cryptomatte/290cd20/manifest", '{ "odd" : "spacing" }'

    assert merged_header([{key: text}, {key: text}]) == {key: text}


def test_a_manifest_that_is_no_json_is_dropped() -> None:
    key = "cryptomatte/290cd20/manifest"

    assert merged_header([{key: "{"}, {key: "{}"}]) == {}
