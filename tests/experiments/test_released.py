"""Networks that exist already are subjects as they are."""

import pytest

from rnncheck.errors import InputError
from rnncheck.experiments.released import ReleasedNetworks
from strategies import SHARED_DATA

FOLDER = SHARED_DATA / "released" / "random"


def test_a_folder_without_networks_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="no folder below"):
        ReleasedNetworks(str(tmp_path))
    with pytest.raises(InputError, match="is not a folder"):
        ReleasedNetworks(str(tmp_path / "nowhere"))


@pytest.mark.skipif(not FOLDER.exists(), reason="the released networks are not beside the project (../shared/data)")
def test_all_released_specifications_are_found() -> None:
    source = ReleasedNetworks(str(FOLDER))
    subjects = {name: source.make(name, None) for name in source.names()}
    assert len(subjects) == 5
    assert sum(len(subject.specs) for subject in subjects.values()) == 22
