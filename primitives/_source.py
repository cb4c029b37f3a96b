"""From an op to the source that an executor compiles: one transformation, for both of them.

What is made equal here, so that no op has to care: loads of narrow integers give `int64`, the error
code carries its element, and every name from outside is a number or a function of this module. Divisions
by what is no constant are functions, too: a GPU divides 32 bits in fewer steps than 64, and most numbers
have no more.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import math
import textwrap
from collections.abc import Collection
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from ._intrinsics import Intrinsic
from ._op import DeviceFunction, Op, OpError, code_fingerprint

_NUMBER_NAMES = {
    np.bool_: "boolean", np.int8: "int8", np.int16: "int16", np.int32: "int32", np.int64: "int64",
    np.uint8: "uint8", np.uint16: "uint16", np.uint32: "uint32", np.uint64: "uint64",
    np.float32: "float32", np.float64: "float64", np.complex64: "complex64",
    np.complex128: "complex128",
}  # fmt: skip


class Module:
    """Collects the functions that one compiled kernel needs, as one module's syntax tree.

    Args:
        decorator: the expression that decorates every function below the op, or None.
        keep_attempt: whether ops take a last array argument, where the looked-up value goes.
    """

    def __init__(self, decorator: str | None, *, keep_attempt: bool) -> None:
        self.decorator = decorator
        self.keep_attempt = keep_attempt
        self.functions: list[ast.FunctionDef] = []
        self._names: dict[int, str] = {}

    def add(
        self,
        function: DeviceFunction,
        name: str,
        element: int | None = None,
        offset: int = 0,
        loaded: Collection[str] = (),
    ) -> None:
        """Adds a function and what it calls.

        Args:
            function: an op or device function.
            name: its name in the module.
            element: for the op of a kernel, the position of the parameter that its errors name.
            offset: number of messages of the ops before it: its codes start above them.
            loaded: parameters that are the first element of what is passed.
        """
        tree = parse(function)
        resolved = function.globals()
        transformer = _Transformer(self, function, resolved, element, offset, loaded)
        definition = transformer.transform(tree, name)
        self.functions.append(definition)

    def name_of(self, function: DeviceFunction) -> str:
        found = self._names.get(id(function))
        if found is None:
            found = self._names[id(function)] = f"f{len(self._names)}_{function.name}"
            self.add(function, found)
        return found

    def tree(self) -> ast.Module:
        return ast.fix_missing_locations(ast.Module(body=list(self.functions), type_ignores=[]))


def parse(function: DeviceFunction) -> ast.FunctionDef:
    """The syntax tree of a function, at the line numbers of its file.

    Raises:
        OpError: if Python cannot find the source, or it is not that of the function any more.
    """
    try:
        lines, first = inspect.getsourcelines(function.function)
    except (OSError, TypeError) as error:
        raise OpError(
            f"{function.where()}: its source cannot be found; define it in a file or a notebook cell"
        ) from error
    try:
        module = ast.parse(textwrap.dedent("".join(lines)))
    except SyntaxError:  # lines out of a larger expression
        module = ast.Module([], [])
    definition = module.body[0] if module.body else None
    if function.name == "<lambda>":
        raise OpError(f"{function.where()} must be a function written with def")
    code = function.function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.function.__globals__))
    # A file may have been edited under a running process. What is made from it goes by the name of the code.
    is_current = (code.co_firstlineno, code_fingerprint(code)) in _codes_in(text)
    if not isinstance(definition, ast.FunctionDef) or not is_current:
        raise OpError(f"{function.where()}: its source has changed since it was imported; start Python again")
    ast.increment_lineno(module, first - 1)
    return definition


@lru_cache(maxsize=32)
def _codes_in(text: str) -> frozenset[tuple[int, bytes]]:
    """The functions of a file: where each starts, and what it does."""
    found: set[tuple[int, bytes]] = set()
    try:
        waiting = [compile(text, "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)]
    except (SyntaxError, ValueError):
        return frozenset()
    while waiting:
        code = waiting.pop()
        found.add((code.co_firstlineno, code_fingerprint(code)))
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return frozenset(found)


def _call(name: str, *args: ast.expr) -> ast.Call:
    """A call that an op does not say: of an intrinsic, by a name that none of its own will hide."""
    return ast.Call(func=ast.Name(INTERNAL + name, ast.Load()), args=list(args), keywords=[])


INTERNAL = "_primitives_"
"""In front of the names of intrinsics that ops call without saying so."""


_REFUSED = (
    ast.Try, ast.Raise, ast.With, ast.Assert, ast.Lambda, ast.ListComp, ast.DictComp, ast.SetComp,
    ast.GeneratorExp, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.ClassDef,
    ast.Import, ast.ImportFrom, ast.Delete, ast.JoinedStr, ast.List, ast.Dict, ast.Set, ast.Slice,
    ast.Starred,
)  # fmt: skip


_DIVISIONS = {ast.FloorDiv: "floor_divide", ast.Mod: "modulo"}


def _binary(left: ast.expr, operator: ast.operator, right: ast.expr) -> ast.expr:
    name = _DIVISIONS.get(type(operator))
    if name is None or isinstance(right, ast.Constant):  # which compilers divide by without dividing
        return ast.BinOp(left, operator, right)
    return _call(name, left, right)


class _Transformer(ast.NodeTransformer):
    def __init__(
        self,
        module: Module,
        function: DeviceFunction,
        resolved: dict[str, Any],
        element: int | None,
        offset: int,
        loaded: Collection[str],
    ) -> None:
        self.offset = offset
        self.loaded = loaded
        self.module = module
        self.function = function
        self.resolved = resolved
        self.element = element

    def transform(self, tree: ast.FunctionDef, name: str) -> ast.FunctionDef:
        body = tree.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        parameters = [ast.arg(arg.arg) for arg in tree.args.posonlyargs + tree.args.args]
        new_body = [self.visit(statement) for statement in body]
        for parameter in parameters:
            if parameter.arg in self.loaded:
                number = ast.Name(parameter.arg, ast.Store())
                parameter.arg = f"_{parameter.arg}"
                first = ast.Subscript(
                    ast.Name(parameter.arg, ast.Load()), ast.Constant(0), ast.Load()
                )
                new_body.insert(0, ast.Assign([number], _call("widen", first)))
        decorators: list[ast.expr] = []
        if self.element is None:
            if self.module.decorator:
                decorators.append(ast.parse(self.module.decorator, mode="eval").body)
        else:
            element = ast.Name(parameters[self.element].arg, ast.Load())
            new_body.insert(0, ast.Assign([ast.Name("_element", ast.Store())], element))
            new_body.append(ast.Return(_call("no_error")))
            if self.module.keep_attempt:
                parameters.append(ast.arg("_attempt"))
                if self.module.decorator:
                    decorators.append(ast.parse(self.module.decorator, mode="eval").body)
        definition = ast.FunctionDef(
            name=name,
            args=ast.arguments(
                posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[]
            ),
            body=new_body or [ast.Pass()],
            decorator_list=decorators,
        )
        setattr(definition, "type_params", [])  # noqa: B010 (a field since Python 3.12)
        return ast.copy_location(definition, tree)

    def fail(self, node: ast.AST, problem: str) -> OpError:
        return OpError(f"{self.function.where(getattr(node, 'lineno', None))}: {problem}")

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, _REFUSED):
            raise self.fail(node, f"{type(node).__name__} does not exist on the device")
        return super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        raise self.fail(node, "an op cannot define functions; use @device_function outside it")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        plain = ast.Assign([self.visit(node.target)], self.visit(node.value))
        return ast.copy_location(plain, node)

    def visit_Name(self, node: ast.Name) -> Any:
        if not isinstance(node.ctx, ast.Load) or node.id not in self.resolved:
            return node
        return ast.copy_location(self._outside(node, self.resolved[node.id]), node)

    def _outside(self, node: ast.AST, value: Any) -> ast.expr:
        if isinstance(value, DeviceFunction):
            return ast.Name(self.module.name_of(value), ast.Load())
        if isinstance(value, Intrinsic):
            return ast.Name(value.name, ast.Load())
        if isinstance(value, type):
            return ast.Name(_NUMBER_NAMES[value], ast.Load())
        if isinstance(value, ModuleType):
            if value is math:
                return ast.Name("math", ast.Load())
            raise self.fail(node, "numpy can only be used for its scalar types, such as np.int64")
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and not math.isfinite(value):
            name = "nan" if value != value else "inf"
            constant: ast.expr = ast.Attribute(ast.Name("math", ast.Load()), name, ast.Load())
            return ast.UnaryOp(ast.USub(), constant) if value < 0 else constant
        return ast.Constant(value)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id in self.resolved:
            owner = self.resolved[node.value.id]
            if owner is np:
                value = getattr(np, node.attr, None)
                if isinstance(value, type) and value in _NUMBER_NAMES:
                    return ast.copy_location(ast.Name(_NUMBER_NAMES[value], ast.Load()), node)
                if isinstance(value, float):
                    return ast.copy_location(self._outside(node, value), node)
                raise self.fail(node, f"np.{node.attr} does not exist on the device")
            if owner is math:
                value = getattr(math, node.attr, None)
                if isinstance(value, float):
                    return ast.copy_location(self._outside(node, value), node)
                return ast.Attribute(ast.Name("math", ast.Load()), node.attr, ast.Load())
        raise self.fail(node, f"attribute {node.attr!r} does not exist on the device")

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        subscript = ast.Subscript(self.visit(node.value), self.visit(node.slice), node.ctx)
        ast.copy_location(subscript, node)
        if isinstance(node.ctx, ast.Load):
            return ast.copy_location(_call("widen", subscript), node)
        return subscript

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return ast.copy_location(_binary(self.visit(node.left), node.op, self.visit(node.right)), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if isinstance(node.target, ast.Name):
            loaded = ast.Name(node.target.id, ast.Load())
            value = _binary(loaded, node.op, self.visit(node.value))
            return ast.copy_location(ast.Assign([node.target], value), node)
        target = self.visit(node.target)
        assert isinstance(node.target, ast.Subscript)  # attributes have been refused
        load = ast.Subscript(
            self.visit(node.target.value), self.visit(node.target.slice), ast.Load()
        )
        widened = _call("widen", load)
        value = _binary(widened, node.op, _call("like", widened, self.visit(node.value)))
        return ast.copy_location(ast.Assign([target], value), node)

    def visit_Return(self, node: ast.Return) -> Any:
        if self.element is None:
            if node.value is not None:
                node.value = self.visit(node.value)
            return node
        value = ast.Constant(None) if node.value is None else node.value
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        if len(parts) > 3:
            raise self.fail(node, "an op returns code, attempt and element at most")
        code = parts[0]
        if isinstance(code, ast.Constant) and code.value in (0, None):
            return ast.copy_location(ast.Return(_call("no_error")), node)
        assert isinstance(self.function, Op)
        count = len(self.function.errors)
        if count == 0:
            raise self.fail(node, "returns a code, but the op has no errors")
        if isinstance(code, ast.Constant) and not (
            isinstance(code.value, int) and 0 < code.value <= count
        ):
            raise self.fail(node, f"returns the code {code.value!r}, but the op has {count} errors")
        element = parts[2] if len(parts) == 3 else ast.Name("_element", ast.Load())
        packed = [self.visit(code), self.visit(element), ast.Constant(self.offset)]
        if self.module.keep_attempt:
            attempt = self.visit(parts[1]) if len(parts) > 1 else _call("no_attempt")
            call = _call("pack_attempt", *packed, attempt, ast.Name("_attempt", ast.Load()))
        else:
            call = _call("pack", *packed)
        return ast.copy_location(ast.Return(call), node)
