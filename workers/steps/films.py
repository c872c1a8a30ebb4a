"""Which pictures make which movies. Pure: no file is touched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from farm.domain.plan import Video
from farm.domain.work import Cause, FramePicture, Order, Role
from workers.failures import AttemptFailed, plain

_MOST_NAMED = 5  # frames in a sentence
_CURE = "Render the frames again with “farm rerender”, then the movie is made once more."


@dataclass(frozen=True)
class Film:
    """A movie to be made: ``pictures`` by frame, in order. ``view`` is the suffix of one of several views."""

    video: Video
    pictures: tuple[FramePicture, ...]
    view: str = ""

    def named(self, name: str) -> str:
        """The movie's name, given what Blender called it: a view's suffix goes before the ending.

        Raises `AttemptFailed` (bad-scene) for a suffix that is no part of a file's name.
        """
        if not self.view.isprintable() or {"/", "\\"} & {*self.view}:
            raise AttemptFailed(
                Cause.BAD_SCENE,
                f"The suffix of a view, “{plain(self.view, 40)}”, cannot be part of a movie's name.",
                "Choose another suffix in the output settings of the scene.",
            )
        path = PurePosixPath(name)
        return str(path.with_name(path.stem + self.view + path.suffix))


def films(order: Order) -> list[Film]:
    """The movies that ``order`` asks for; several views make one each, as in Blender.

    Raises `AttemptFailed` (bad-result) where a frame of the plan has no picture, or no telling which of
    several is its own (a File Output node's lie beside it).
    """
    plan, report = order.plan, order.report
    if plan is None:
        raise ValueError("an encoding needs a plan")
    frames = list(plan.frame_range)
    found = []
    for video in plan.videos:
        if video is Video.PREVIEW:
            role, views, named = Role.PREVIEW, [""], ""
        else:
            role, named = Role.OUTPUT, report.output_name if report else ""
            views = list(report.views) if report else []
        by_frame = _by_frame(order.pictures, role)
        missing = [frame for frame in frames if frame not in by_frame]
        if missing:
            raise _bad(f"The movie cannot be made: there is no picture of {_named(missing)}.")
        found += _of_views(video, by_frame, frames, views, named) or [
            _only(video, by_frame, frames, views, named)
        ]
    return found


def _of_views(
    video: Video,
    by_frame: Mapping[int, Sequence[FramePicture]],
    frames: Iterable[int],
    views: Sequence[str],
    named: str,
) -> list[Film]:
    """One movie for each view; none where the views lie in one picture."""
    if len(views) < 2 or any(len(by_frame[frame]) < len(views) for frame in frames):
        return []
    return [
        Film(video, tuple(_own(by_frame[frame], frame, view, named) for frame in frames), view)
        for view in views
    ]


def _only(
    video: Video,
    by_frame: Mapping[int, Sequence[FramePicture]],
    frames: Sequence[int],
    views: Sequence[str],
    named: str,
) -> Film:
    """The one movie of these pictures; called after its view, where they are those of one of several."""
    pictures = tuple(_own(by_frame[frame], frame, "", named) for frame in frames)
    for view in views if len(views) > 1 else ():
        if all(
            _stem(one.file.name) in {stem + view for stem in _stems(named, one.frame)} for one in pictures
        ):
            return Film(video, pictures, view)
    return Film(video, pictures)


def _by_frame(pictures: Iterable[FramePicture], role: Role) -> dict[int, list[FramePicture]]:
    found: dict[int, list[FramePicture]] = {}
    for picture in pictures:
        if picture.file.role is role:
            found.setdefault(picture.frame, []).append(picture)
    if role is Role.PREVIEW:  # of one that was made twice, the last
        return {frame: some[-1:] for frame, some in found.items()}
    return found


def _own(pictures: Sequence[FramePicture], frame: int, view: str, named: str) -> FramePicture:
    """The one of ``pictures`` that the scene's own output is: by its name, where there are several."""
    if len(pictures) == 1:
        return pictures[0]
    stems = {stem + view for stem in _stems(named, frame)}
    own = [picture for picture in pictures if _stem(picture.file.name) in stems]
    if len(own) != 1:
        raise _bad(
            f"The movie cannot be made: frame {frame} has {len(pictures)} pictures, and which of them is the "
            "scene's own cannot be told."
        )
    return own[0]


def _stem(name: str) -> str:
    """``clip.mp40003`` of ``clip.mp40003.png``; a picture in a folder has none, it is a node's."""
    return re.sub(r"\.(png|exr)$", "", name)


def _stems(named: str, frame: int) -> Iterator[str]:
    """What Blender makes of an output's name: the number in the place of ``####``, or at its end."""
    sign = "-" if frame < 0 else ""
    runs = list(re.finditer("#+", named))
    if not runs:
        yield f"{named}{sign}{abs(frame):04d}"
    for run in runs:
        number = f"{sign}{abs(frame):0{len(run[0])}d}"
        yield f"{named[: run.start()]}{number}{named[run.end() :]}"


def _named(frames: Sequence[int]) -> str:
    some = ", ".join(map(str, frames[:_MOST_NAMED]))
    more = len(frames) - _MOST_NAMED
    word = "frame" if len(frames) == 1 else "frames"
    return f"{word} {some} and {more} more" if more > 0 else f"{word} {some}"


def _bad(what: str) -> AttemptFailed:
    return AttemptFailed(Cause.BAD_RESULT, what, _CURE)
