import sys
from pathlib import Path

# The harness and its generators are modules of this folder.
sys.path.insert(0, str(Path(__file__).parent))
