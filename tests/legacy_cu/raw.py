"""The specializations that the raw kernels have, by awkward's signature table."""

from __future__ import annotations

import legacy_cu
from awkward_cudakernels import signatures

OLDER = (
    "awkward_ListOffsetArray_reduce_local_outoffsets_64",
    "awkward_ListOffsetArray_reduce_nonlocal_nextstarts_64",
)
"""Of awkward's releases before its reducers took offsets; not in the table."""

SPECIALIZATIONS = [
    specialization
    for name in legacy_cu.kernels()
    if name not in OLDER
    for specialization in signatures.families()[name].specializations
]


def types_of(family: legacy_cu.Family, specialization: signatures.Specialization) -> dict[str, str]:
    """Dtype characters by template parameter."""
    dtypes = {argument.name: argument.dtype.char for argument in specialization.arguments}
    return {parameter: dtypes[argument] for parameter, argument in family.types.items()}
