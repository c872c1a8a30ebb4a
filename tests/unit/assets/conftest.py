from collections.abc import Callable
from pathlib import Path

import pytest

CORPUS = Path(__file__).resolve().parents[3].parent / "shared" / "corpus"


@pytest.fixture
def corpus() -> Callable[[str], Path]:
    """Gives the path of a scene of other people; skips where they are not there."""
    if not CORPUS.is_dir():
        pytest.skip("the scenes of other people do not lie beside the project")
    return lambda name: CORPUS / name
