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


@pytest.mark.parametrize(
    ("values", "odd"),
    [(["1", "1", "2"], [2]), (["2", "1", "1", "3", "1"], [0, 3]), (["1", "2"], []), (["1", "2", "3"], [])],
)
def test_the_few_that_say_something_else_than_most_are_named(values: list[str], odd: list[int]) -> None:
    with pytest.raises(Disagreement) as caught:
        merged_header([{"Frame": value} for value in values])

    assert caught.value.odd == odd


def test_samples_of_several_pictures_are_added_up_once_each() -> None:
    headers = [{"cycles.L.samples": value} for value in ("128", "128", "384")]

    assert merged_header(headers, ["a", "a", "b"]) == {"cycles.L.samples": "512"}


def test_ranges_of_one_picture_must_agree_on_its_samples_though_there_is_another() -> None:
    headers = [{"cycles.L.samples": value} for value in ("128", "64", "384")]

    with pytest.raises(Disagreement):
        merged_header(headers, ["a", "a", "b"])


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
