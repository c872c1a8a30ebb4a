"""What a child may say: known kinds, known fields, right types; anything else is one kind of fault."""

from __future__ import annotations

import json

import pytest

from workers.protocol import (
    MAX_LINE,
    Count,
    Done,
    FinishFrame,
    Inspect,
    Look,
    MergeFrame,
    Message,
    PieceFile,
    ProtocolFault,
    Ready,
    Shrink,
    decode,
    encode,
)


@pytest.mark.parametrize(
    "message",
    [
        Inspect(scene="Shot", samples=64),
        FinishFrame(Look(frame=-3, device="CPU", samples=8), "/merged.exr", "/out", "/preview.jpg"),
        MergeFrame([PieceFile("/a.exr", [0, 0, 5, 4], [0, 0, 4, 4])], 4, 4, "/out.exr"),
        Shrink("/a.jpg", "/b.jpg", 100, [2, 0, 5, 4]),
        Ready("blender", devices=[{"type": "CPU", "name": "a CPU"}]),
        Done(outputs=["a.png"], seconds={"load": 1.5}, report={"any": [1, None, {"thing": True}]}),
        Count("rendering", 3, 16, "Käfer"),
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_message_arrives_as_it_was_sent(message: Message) -> None:
    line = encode(message)
    assert line.count(b"\n") == 1
    assert decode(line) == message


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"Fra:1 Mem:12.0M",
        b"[]",
        b"null",
        b"{}",
        b'{"kind":"Explode"}',
        b'{"kind":["Beat"]}',
        b'{"kind":{"Beat":1}}',
        b'{"kind":"Beat","peak_memory":"much"}',
        b'{"kind":"Beat","peak_memory":true}',
        b'{"kind":"Beat","peak_memory":1.5}',
        b'{"kind":"Beat","pulse":60}',
        b'{"kind":"Count"}',
        b'{"kind":"Done","outputs":["a",3]}',
        b'{"kind":"Done","seconds":{"load":null}}',
        b'{"kind":"Done","report":[]}',
        b'{"kind":"Done","seconds":{"load":1' + b"0" * 400 + b"}}",
        b'{"kind":"FinishFrame","look":{"frame":1},"merged":"","out_dir":"","preview":""}',
        b'{"kind":"Beat","peak_memory":' + b"9" * 5000 + b"}",
        b'{"kind":' + b"[" * 200_000,
        b'{"kind":"Failed","what":"\xff"}',
        b'{"kind":"Failed","what":"' + b"x" * MAX_LINE + b'"}',
    ],
    ids=lambda line: line[:40].decode(errors="replace"),
)
def test_anything_else_is_a_fault(line: bytes) -> None:
    with pytest.raises(ProtocolFault):
        decode(line)


def test_whole_seconds_are_seconds() -> None:
    seconds = decode(json.dumps({"kind": "Done", "seconds": {"load": 2}}).encode())
    assert isinstance(seconds, Done)
    assert seconds.seconds == {"load": 2.0}
    assert isinstance(seconds.seconds["load"], float)
