"""Lowers the generated kernels, a small subset of Python, to LLVM IR.

All values are int64 or boolean, so that no types need be inferred and a line takes well under a millisecond.
The subset (anything else raises NotImplementedError, a fault of the generator):

    def f(p: "I64", d: "U8", a, b) -> bool:      pointers to int64 and to bytes; other parameters int64
    x = e · x += e · p[e] = e · p[e] += e · if/elif/else · while · break · continue · return e · f(...) · pass
    integers, True/False, + - * // % & | ^ << >> ~ -, comparisons, and/or/not, a if c else b, p[e], calls,
    names of constants (given to the lowering), ctz(x), popcount(x)

The same text is plain Python, so tests run it in CPython over a list.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

I64, I1, I8, I32 = ir.IntType(64), ir.IntType(1), ir.IntType(8), ir.IntType(32)
POINTERS = {"I64": I64.as_pointer(), "U8": I8.as_pointer()}

_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


@dataclass
class _Function:
    """The state of lowering one function: its builder, locals (stack slots), and the loops around."""

    builder: Any
    entry: Any
    result: Any
    slots: dict[str, Any] = field(default_factory=dict)
    pointers: dict[str, Any] = field(default_factory=dict)
    loops: list[tuple[Any, Any]] = field(default_factory=list)


class Lowering:
    """One module being lowered: `constants` are names that the text uses for integers."""

    def __init__(self, name: str, constants: Mapping[str, int]) -> None:
        self.module = ir.Module(name)
        self.constants = constants
        self.functions: dict[str, Any] = {}
        self._current: _Function | None = None

    def add(self, source: str, exported: frozenset[str] = frozenset(), inlined: frozenset[str] = frozenset()) -> None:
        """Lower all functions of a text; `exported` keep their names for the linker, `inlined` always are inlined."""
        definitions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
        for node in definitions:
            self._declare(node, node.name in exported, node.name in inlined)
        for node in definitions:
            self._define(node)

    def text(self) -> str:
        """The module as LLVM assembly."""
        return str(self.module)

    # --- functions ------------------------------------------------------------------------------------------------

    def _declare(self, node: ast.FunctionDef, exported: bool, inlined: bool) -> None:
        if node.name in self.functions or node.name in self.constants:
            raise NotImplementedError(f"two functions or constants are named {node.name}")
        arguments = []
        for argument in node.args.args:
            annotation = argument.annotation
            arguments.append(POINTERS[annotation.value] if isinstance(annotation, ast.Constant) else I64)  # type: ignore[index]
        result = I1 if isinstance(node.returns, ast.Name) and node.returns.id == "bool" else I64
        function = ir.Function(self.module, ir.FunctionType(result, arguments), name=f"{self.module.name}.{node.name}")
        if not exported:
            function.linkage = "internal"
        function.attributes.add("alwaysinline" if inlined else "nounwind")
        if not inlined and node.name.startswith("check_"):
            function.attributes.add("noinline")
        self.functions[node.name] = function

    def _define(self, node: ast.FunctionDef) -> None:
        function = self.functions[node.name]
        entry = function.append_basic_block("entry")
        body = function.append_basic_block("body")
        here = _Function(ir.IRBuilder(body), ir.IRBuilder(entry), function.function_type.return_type)
        self._current = here
        for argument, value in zip(node.args.args, function.args, strict=True):
            if isinstance(value.type, ir.PointerType):
                here.pointers[argument.arg] = value
            else:
                slot = here.entry.alloca(I64, name=argument.arg)
                here.entry.store(value, slot)
                here.slots[argument.arg] = slot
        self._statements(node.body)
        if not here.builder.block.is_terminated:
            here.builder.ret(ir.Constant(here.result, 0))
        here.entry.branch(body)

    @property
    def _here(self) -> _Function:
        if self._current is None:
            raise NotImplementedError("code outside a function")
        return self._current

    # --- statements -----------------------------------------------------------------------------------------------

    def _statements(self, nodes: list[ast.stmt]) -> None:
        for node in nodes:
            if self._here.builder.block.is_terminated:
                return
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        here = self._here
        match node:
            case ast.Assign([ast.Name(name)], value):
                self._store_local(name, self._value(value))
            case ast.Assign([ast.Subscript() as place], value):
                result = self._integer(self._value(value))
                here.builder.store(result, self._address(place))
            case ast.AugAssign(ast.Name(name), operator, value):
                old = here.builder.load(here.slots[name])
                self._store_local(name, self._binary(operator, old, self._value(value)))
            case ast.AugAssign(ast.Subscript() as place, operator, value):
                result = self._value(value)
                address = self._address(place)
                here.builder.store(self._binary(operator, here.builder.load(address), result), address)
            case ast.If(test, body, orelse):
                self._if(test, body, orelse)
            case ast.While(test, body, []):
                self._while(test, body)
            case ast.Break():
                here.builder.branch(here.loops[-1][1])
            case ast.Continue():
                here.builder.branch(here.loops[-1][0])
            case ast.Return(value):
                result = ir.Constant(here.result, 0) if value is None else self._value(value)
                here.builder.ret(self._truth(result) if here.result is I1 else self._integer(result))
            case ast.Expr(ast.Call() as call):
                self._value(call)
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case _:
                raise NotImplementedError(f"line {node.lineno}: {ast.unparse(node)}")

    def _store_local(self, name: str, value: Any) -> None:
        here = self._here
        slot = here.slots.get(name)
        if slot is None and (name in here.pointers or name in self.functions or name in self.constants):
            raise NotImplementedError(f"a local is named as something else is: {name}")
        if slot is None:
            slot = here.slots[name] = here.entry.alloca(value.type, name=name)
            here.entry.store(ir.Constant(value.type, 0), slot)  # a value on the ways that do not assign it
        kind = slot.type.pointee
        here.builder.store(self._truth(value) if kind is I1 else self._integer(value), slot)

    def _if(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        here = self._here
        function = here.builder.function
        then, after = function.append_basic_block(), function.append_basic_block()
        other = function.append_basic_block() if orelse else after
        self._branch(test, then, other)
        for block, statements in ((then, body), (other, orelse)):
            if not statements:
                continue
            here.builder.position_at_end(block)
            self._statements(statements)
            if not here.builder.block.is_terminated:
                here.builder.branch(after)
        here.builder.position_at_end(after)

    def _while(self, test: ast.expr, body: list[ast.stmt]) -> None:
        here = self._here
        function = here.builder.function
        head, inside, after = (function.append_basic_block() for _ in range(3))
        here.builder.branch(head)
        here.builder.position_at_end(head)
        self._branch(test, inside, after)
        here.builder.position_at_end(inside)
        here.loops.append((head, after))
        self._statements(body)
        here.loops.pop()
        if not here.builder.block.is_terminated:
            here.builder.branch(head)
        here.builder.position_at_end(after)

    def _branch(self, test: ast.expr, then: Any, other: Any) -> None:
        """Branch on a condition, `and`/`or`/`not` as jumps."""
        here = self._here
        match test:
            case ast.BoolOp(ast.And(), values):
                for value in values[:-1]:
                    following = here.builder.function.append_basic_block()
                    self._branch(value, following, other)
                    here.builder.position_at_end(following)
                self._branch(values[-1], then, other)
            case ast.BoolOp(ast.Or(), values):
                for value in values[:-1]:
                    following = here.builder.function.append_basic_block()
                    self._branch(value, then, following)
                    here.builder.position_at_end(following)
                self._branch(values[-1], then, other)
            case ast.UnaryOp(ast.Not(), operand):
                self._branch(operand, other, then)
            case ast.Constant(value):
                here.builder.branch(then if value else other)
            case _:
                here.builder.cbranch(self._truth(self._value(test)), then, other)

    # --- expressions ----------------------------------------------------------------------------------------------

    def _integer(self, value: Any) -> Any:
        return value if value.type is I64 else self._here.builder.zext(value, I64)

    def _truth(self, value: Any) -> Any:
        return value if value.type is I1 else self._here.builder.icmp_signed("!=", value, ir.Constant(I64, 0))

    def _address(self, place: ast.Subscript) -> Any:
        here = self._here
        if not isinstance(place.value, ast.Name):
            raise NotImplementedError(ast.unparse(place))
        pointer = here.pointers[place.value.id]
        return here.builder.gep(pointer, [self._integer(self._value(place.slice))])

    def _value(self, node: ast.expr) -> Any:
        here = self._here
        match node:
            case ast.Constant(bool() as value):
                return ir.Constant(I1, int(value))
            case ast.Constant(int() as value):
                return ir.Constant(I64, value)
            case ast.Name(name):
                if name in here.slots:
                    return here.builder.load(here.slots[name])
                if name in here.pointers:
                    return here.pointers[name]
                return ir.Constant(I64, self.constants[name])
            case ast.Subscript():
                loaded = here.builder.load(self._address(node))
                return here.builder.zext(loaded, I64) if loaded.type is I8 else loaded
            case ast.BinOp(left, operator, right):
                return self._binary(operator, self._value(left), self._value(right))
            case ast.UnaryOp(ast.USub(), operand):
                return here.builder.neg(self._integer(self._value(operand)))
            case ast.UnaryOp(ast.Invert(), operand):
                return here.builder.not_(self._integer(self._value(operand)))
            case ast.UnaryOp(ast.Not(), operand):
                return here.builder.not_(self._truth(self._value(operand)))
            case ast.Compare(left, [operator], [right]):
                a, b = self._value(left), self._value(right)
                return here.builder.icmp_signed(_COMPARE[type(operator)], self._integer(a), self._integer(b))
            case ast.BoolOp() | ast.IfExp():
                return self._choice(node)
            case ast.Call(ast.Name(name), arguments):
                return self._call(name, arguments)
        raise NotImplementedError(ast.unparse(node))

    def _choice(self, node: ast.BoolOp | ast.IfExp) -> Any:
        here = self._here
        function = here.builder.function
        then, other, after = (function.append_basic_block() for _ in range(3))
        self._branch(node.test if isinstance(node, ast.IfExp) else node, then, other)
        incoming = []
        for block, part in ((then, True), (other, False)):
            here.builder.position_at_end(block)
            if isinstance(node, ast.IfExp):
                incoming.append(self._value(node.body if part else node.orelse))
            else:
                incoming.append(ir.Constant(I1, int(part)))
            incoming.append(here.builder.block)
        if incoming[0].type != incoming[2].type:
            raise NotImplementedError(f"two types in {ast.unparse(node)}")
        for block in (incoming[1], incoming[3]):
            here.builder.position_at_end(block)
            here.builder.branch(after)
        here.builder.position_at_end(after)
        phi = here.builder.phi(incoming[0].type)
        phi.add_incoming(incoming[0], incoming[1])
        phi.add_incoming(incoming[2], incoming[3])
        return phi

    def _binary(self, operator: ast.operator, left: Any, right: Any) -> Any:
        builder = self._here.builder
        if left.type is I1 and right.type is I1 and isinstance(operator, ast.BitAnd | ast.BitOr | ast.BitXor):
            return getattr(builder, _BINARY[type(operator)])(left, right)
        left, right = self._integer(left), self._integer(right)
        name = _BINARY.get(type(operator))
        if name is not None:
            return getattr(builder, name)(left, right)
        if not isinstance(operator, ast.FloorDiv | ast.Mod):
            raise NotImplementedError(type(operator).__name__)
        quotient, remainder = builder.sdiv(left, right), builder.srem(left, right)
        zero = ir.Constant(I64, 0)
        unlike = builder.icmp_signed("<", builder.xor(remainder, right), zero)
        off = builder.and_(builder.icmp_signed("!=", remainder, zero), unlike)
        if isinstance(operator, ast.FloorDiv):
            return builder.sub(quotient, builder.zext(off, I64))
        return builder.select(off, builder.add(remainder, right), remainder)

    def _call(self, name: str, arguments: list[ast.expr]) -> Any:
        builder = self._here.builder
        values = [self._value(argument) for argument in arguments]
        if name == "ctz":
            return builder.cttz(self._integer(values[0]), ir.Constant(I1, 0))
        if name == "popcount":
            return builder.ctpop(self._integer(values[0]))
        function = self.functions[name]
        return builder.call(
            function,
            [v if isinstance(v.type, ir.PointerType) else self._integer(v) for v in values],
        )
