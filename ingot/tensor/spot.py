"""Where the user built a node. In: a node that has just been made. Out: its spot, for errors that show at evaluation.

A spot is a code object and an offset in it, which costs a tenth of a microsecond; what line that is can wait.
"""

from types import FrameType

from ingot.ir.node import UOp, set_spot
from ingot.place import is_ours, user_frame

# Files that are known to be the user's: what is made there directly needs no walk.
user_files: set[str] = set()


def note_spot(node: UOp, frame: FrameType) -> None:
    """Find the user's own frame from here on, and keep where it is."""
    found = user_frame(frame) or frame
    file = found.f_code.co_filename
    if not is_ours(file):
        user_files.add(file)
    set_spot(node, (found.f_code, found.f_lasti))
