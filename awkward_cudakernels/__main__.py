"""``python -m awkward_cudakernels``: the same as the command ``awkward-cudakernels``."""

from awkward_cudakernels.cli import main

if __name__ == "__main__":
    main()
