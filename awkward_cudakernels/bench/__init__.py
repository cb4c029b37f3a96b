"""The measurements behind ``awkward-cudakernels bench``, one module for each section.

- `launch`: host time of one call;
- `rates`: device bandwidth of the primitives against a copy;
- `layers`: which part of an operation's time is whose;
- `cold`: first calls in fresh processes;
- `kernels`, `operations`, `dilepton`: kernels, whole operations and an analysis, on several sides.

A *side* is whose code runs: ``ours``, ``awkward`` (its own CUDA backend), ``cpu`` (its own CPU backend)
and ``floor`` (the same as ``cpu``, on 100 lists: what awkward's Python alone takes). Each side runs in a
process of its own (`worker`), so that what crashes one side costs one row; `runner` starts them and
collects rows, which are plain dictionaries; `tables`, `plot` and `document` show rows.
"""
