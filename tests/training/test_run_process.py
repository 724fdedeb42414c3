"""The last message of a run."""

import errno

import pytest

from bertexplorer.training.run_process import error_message


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device. Make room and resume"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "Disk quota exceeded. Make room and resume"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
        (MemoryError(), "Out of memory. Try a smaller batch"),
        (KeyError(), "KeyError"),
    ],
)
def test_the_error_message_names_a_remedy(error: Exception, words: str) -> None:
    assert words in error_message(error)
    assert ("Make room" in error_message(error)) == ("Make room" in words)
