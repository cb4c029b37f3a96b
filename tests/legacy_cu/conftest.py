import sys
from pathlib import Path

# The differential harness, its generators, and this folder's modules.
for folder in (Path(__file__).parents[1] / "awkward_cudakernels", Path(__file__).parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
