"""Files of a scene that do not lie under its root."""

from farm.assets.hashing import blob_of
from farm.domain.scene import SceneManifest


def test_a_file_is_sent_from_where_it_lies_and_a_copy_instead_of_the_original(client, farm, tmp_path):
    root, other = tmp_path / "root", tmp_path / "other"
    for folder in (root, other):
        folder.mkdir()
    (root / "x.blend").write_bytes(b"original")
    (root / "a.png").write_bytes(b"a")
    (other / "0.blend").write_bytes(b"copy")
    (other / "b.png").write_bytes(b"b")
    elsewhere = {"x.blend": other / "0.blend", "_outside/b.png": other / "b.png"}
    files = {"a.png": blob_of(root / "a.png"), **{name: blob_of(path) for name, path in elsewhere.items()}}
    manifest = SceneManifest(main="x.blend", files=files)
    assert client.upload_scene(manifest, root, elsewhere=elsewhere).scene_id == manifest.scene_id
    assert set(farm.blobs.values()) == {b"copy", b"a", b"b"}
