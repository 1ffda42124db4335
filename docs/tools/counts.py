"""Count what keeps the house small, print it beside its limits, and leave with 1 where one is broken.

    python docs/tools/counts.py [--where] [--room ROOM] [--src DIR]

Everything is read from the syntax of the files; nothing is imported. ``--where`` lists every place, ``--room`` those of
one room.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "disclique"
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*$")
CONTAINERS = {"dict", "list", "set", "defaultdict", "OrderedDict", "Counter", "deque", "bytearray"} | {
    f"Weak{kind}" for kind in ("KeyDictionary", "ValueDictionary", "Set")
}
WRITING = {"append", "add", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "remove"}
WRITING |= {"setdefault", "update", "sort", "reverse", "__setitem__", "__delitem__"}
SMALL = {"str", "int", "float", "bool", "bytes", "None", "tuple", "Literal"}  # what a cache may be keyed by
BUILDING = {"__init__", "__post_init__", "__setstate__", "__new__"}  # where a frozen value may still be written to
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file of the package: where it lies, in which room, and its syntax."""

    path: Path
    name: str
    lines: int
    tree: ast.Module

    @property
    def room(self) -> str:
        """The first folder below the package; what lies in none is ``(door)``."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 2 or (self.path.name == "__init__.py" and len(parts) > 1) else "(door)"

    def functions(self) -> Iterator[Function]:
        """Every function and method, at any depth."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))


@dataclass(frozen=True)
class Finding:
    """One place that counts."""

    module: Module
    line: int
    what: str


def read_modules(src: Path) -> list[Module]:
    """Read every module below ``src``, in the order of their paths."""
    found = []
    for path in sorted(src.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(src).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(path, name, text.count("\n"), ast.parse(text)))
    return found


def imported(module: Module) -> dict[str, tuple[str, str]]:
    """For each name that the module imports from a module: that module and the name there."""
    names = {}
    package = module.name if module.path.name == "__init__.py" else module.name.rpartition(".")[0]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*base, node.module] if node.module else base)
            names.update({alias.asname or alias.name: (source, alias.name) for alias in node.names})
    return names


def last_names(node: ast.expr) -> Iterator[str]:
    """The names that an expression of classes ends in: of ``(a.B, C | D)`` it is B, C and D."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from last_names(part)
        case ast.BinOp(left=left, right=right):
            yield from last_names(left)
            yield from last_names(right)


def space_checks(modules: list[Module]) -> Iterator[Finding]:
    """Questions for the class of a space outside its room: ``isinstance``, ``issubclass``, ``type(x) is``, ``case``."""
    spaces = f"{PACKAGE}.spaces"
    classes = {
        node.name
        for module in modules
        if module.room == "spaces"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }
    for module in modules:
        if module.room == "spaces":
            continue
        renamed = {
            here: there
            for here, (source, there) in imported(module).items()
            if (source == spaces or source.startswith(f"{spaces}.")) and there in classes
        }
        for node in ast.walk(module.tree):
            match node:
                case ast.Call(func=ast.Name(id="isinstance" | "issubclass" as asked), args=[_, second]):
                    named = second
                case ast.Compare(left=ast.Call(func=ast.Name(id="type" as asked)), comparators=[named]):
                    pass
                case ast.MatchClass(cls=named):
                    asked = "case"
                case _:
                    continue
            # a class may also be reached through its module: `points.Points`
            reached = {part.attr for part in ast.walk(named) if isinstance(part, ast.Attribute)} & classes
            for name in last_names(named):
                if name in renamed or name in reached:
                    yield Finding(module, node.lineno, f"{asked} {renamed.get(name, name)}")


def assignments(module: Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Every assignment at module level: what is assigned to, and the value; ``a, b = 1, 2`` gives two."""
    for node in module.tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                yield from zip(target.elts, value.elts, strict=True)
            else:
                yield target, value


def changing_classes(modules: list[Module]) -> set[str]:
    """Classes of the package whose methods write to their own object after it was built."""
    names = set()
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                methods = [each for each in node.body if isinstance(each, Function) and each.name not in BUILDING]
                if any(_writes_to_self(method) for method in methods):
                    names.add(node.name)
    return names


def _writes_to_self(method: Function) -> bool:
    for node in ast.walk(method):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store() | ast.Del()):
                return True
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self")), ctx=ast.Store() | ast.Del()):
                return True
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self")), attr=name)):
                if name in WRITING:
                    return True
    return False


def module_names(module: Module) -> tuple[set[str], set[str]]:
    """Return the names assigned at module level, and those of them that hold a container."""
    names, containers = set(), set()
    for target, value in assignments(module):
        held = {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
        names |= held
        made = isinstance(value, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp)
        if made or (isinstance(value, ast.Call) and CONTAINERS & set(last_names(value.func))):
            containers |= held
    return names, containers


def filling_at_import(modules: list[Module]) -> set[str]:
    """Functions that work while modules are loaded: decorators, and what is called at module level."""
    names: set[str] = set()
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, Function | ast.ClassDef):
                for decorator in node.decorator_list:
                    names |= set(last_names(decorator.func if isinstance(decorator, ast.Call) else decorator))
        for statement in module.tree.body:
            if not isinstance(statement, Function | ast.ClassDef):
                calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
                names |= {name for call in calls for name in last_names(call.func)}
    return names


def bound_inside(function: Function) -> set[str]:
    """Names that are the function's own: its parameters and what it assigns, less what it declares global."""
    arguments = function.args
    names = {each.arg for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
    names |= {each.arg for each in (arguments.vararg, arguments.kwarg) if each}
    shared: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Global):
            shared |= set(node.names)
    return names - shared


def writes(function: Function) -> Iterator[tuple[ast.AST, str, bool]]:
    """Every write through a name inside a function: where, to which name, and whether the name may hold any object."""
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield node, name, False
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield node, name, True
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in WRITING:
                yield node, name, False
            case ast.Call(func=ast.Name(id="next"), args=[ast.Name(id=name), *_]):
                yield node, name, True


def written_state(modules: list[Module]) -> Iterator[Finding]:
    """What functions write to at module level after loading, iterators that are drawn from, and ``global``."""
    fills, changing = filling_at_import(modules), changing_classes(modules)
    for module in modules:
        for target, value in assignments(module):
            if isinstance(value, ast.Call) and changing & set(last_names(value.func)):
                yield Finding(module, target.lineno, f"{ast.unparse(target)} is an object that changes")
        names, containers = module_names(module)
        borrowed = {here for here, (source, there) in imported(module).items() if CONSTANT.match(there)}
        for function in module.functions():
            own = bound_inside(function)
            for node in ast.walk(function):
                if isinstance(node, ast.Global):
                    yield Finding(module, node.lineno, f"global {', '.join(node.names)}")
            if function.name in fills:
                continue
            for node, name, attribute in writes(function):
                if name not in own and (name in containers | borrowed or (attribute and name in names)):
                    yield Finding(module, node.lineno, f"{function.name} writes to {name}")


def small(annotation: ast.expr | None) -> bool:
    """Whether an annotation is of small values that never change."""
    if annotation is None:
        return False
    words = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
    return words <= SMALL


def wide_caches(modules: list[Module]) -> Iterator[Finding]:
    """Functions that are remembered by arguments which are not small values."""
    for module in modules:
        for function in module.functions():
            decorators = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
            if not {"cache", "lru_cache"} & {name for each in decorators for name in last_names(each)}:
                continue
            arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            large = [each.arg for each in arguments if not small(each.annotation)]
            if large:
                yield Finding(module, function.lineno, f"cache of {function.name} by {', '.join(large)}")


def hidden_attributes(modules: list[Module]) -> Iterator[Finding]:
    """Attributes that are written past a class: through ``__dict__``, ``vars``, or on a frozen value that is made."""
    for module in modules:
        building = BUILDING | {
            name
            for function in module.functions()
            if function.name in BUILDING
            for node in ast.walk(function)
            if isinstance(node, ast.Call)
            for name in last_names(node.func)
        }
        for function in module.functions():
            for node in ast.walk(function):
                match node:
                    case ast.Subscript(value=ast.Attribute(attr="__dict__"), ctx=ast.Store() | ast.Del()):
                        yield Finding(module, node.lineno, f"{function.name} writes to __dict__")
                    case ast.Subscript(value=ast.Call(func=ast.Name(id="vars")), ctx=ast.Store() | ast.Del()):
                        yield Finding(module, node.lineno, f"{function.name} writes to vars()")
                    case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="__dict__"), attr=method)):
                        if method in WRITING:
                            yield Finding(module, node.lineno, f"{function.name} writes to __dict__")
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="object"), attr="__setattr__")):
                        if function.name not in building:
                            yield Finding(module, node.lineno, f"{function.name} writes to a frozen value")


def module_state(modules: list[Module]) -> Iterator[Finding]:
    """Everything that is remembered without being passed."""
    yield from written_state(modules)
    yield from wide_caches(modules)
    yield from hidden_attributes(modules)


def constants(module: Module) -> Iterator[tuple[str, int, str]]:
    """UPPER_CASE names of a module: name, line and what they stand for."""
    for target, value in assignments(module):
        for name in ast.walk(target):
            if isinstance(name, ast.Name) and CONSTANT.match(name.id):
                yield name.id, name.lineno, ast.unparse(value)


def double_meanings(modules: list[Module]) -> Iterator[Finding]:
    """Constants that stand for different things in the modules of one room; each name counts once for each room."""
    meanings: dict[tuple[str, str], list[tuple[Module, int, str]]] = defaultdict(list)
    for module in modules:
        for name, line, value in constants(module):
            meanings[module.room, name.lstrip("_")].append((module, line, value))
    for (_, name), found in sorted(meanings.items()):
        if len({value for _, _, value in found}) > 1 and len({module.name for module, _, _ in found}) > 1:
            others = ", ".join(f"{module.name.partition('.')[2]}:{line}" for module, line, _ in found)
            yield Finding(found[0][0], found[0][1], f"{name} in {others}")


def wide_functions(modules: list[Module]) -> Iterator[Finding]:
    """Public functions and methods of more than six parameters, but for commands, which have one for each option."""
    for module in modules:
        if module.room == "cli" or any(part.startswith("_") for part in module.name.split(".")):
            continue
        bodies = [("", module.tree.body)]
        bodies += [(f"{node.name}.", node.body) for node in module.tree.body if isinstance(node, ast.ClassDef)]
        for owner, body in bodies:
            for function in body:
                if not isinstance(function, Function) or function.name.startswith("_") or owner.startswith("_"):
                    continue
                arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
                count = len([each for each in arguments if each.arg not in {"self", "cls"}])
                if count > 6:
                    yield Finding(module, function.lineno, f"{owner}{function.name} has {count} parameters")


def long_files(modules: list[Module]) -> Iterator[Finding]:
    """Files of more than 420 lines."""
    return (Finding(module, 1, f"{module.lines} lines") for module in modules if module.lines > 420)


@dataclass(frozen=True)
class Count:
    """One row of the table; a limit of None is a number to look at."""

    title: str
    limit: int | None
    find: Callable[[list[Module]], Iterator[Finding]]


COUNTS = (
    Count("isinstance on spaces outside their room", 0, space_checks),
    Count("mutable state at module level", 0, module_state),
    Count("constant names with two meanings in one room", 0, double_meanings),
    Count("public functions of more than six parameters", None, wide_functions),
    Count("files of more than 420 lines", None, long_files),
)


def print_rooms(modules: list[Module]) -> None:
    """Print modules and lines of each room."""
    rooms: dict[str, list[int]] = defaultdict(list)
    for module in modules:
        rooms[module.room].append(module.lines)
    for room, lines in sorted(rooms.items(), key=lambda item: -sum(item[1])):
        print(f"  {room:<12} {len(lines):>4} modules {sum(lines):>7,} lines")


def main() -> int:
    """Print the table; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--where", action="store_true", help="list every place")
    parser.add_argument("--room", help="list the places of one room, such as attacks")
    parser.add_argument("--src", type=Path, default=Path(__file__).resolve().parents[2] / "src")
    asked = parser.parse_args()
    modules = read_modules(asked.src)
    found = {count.title: list(count.find(modules)) for count in COUNTS}
    rows = [("modules", len(modules), 220), ("lines", sum(module.lines for module in modules), 40_000)]
    rows += [(count.title, len(found[count.title]), count.limit) for count in COUNTS]
    print(f"{'':<48}{'count':>8}{'limit':>8}")
    for title, number, limit in rows:
        broken = limit is not None and number > limit
        print(f"{title:<48}{number:>8,}{'' if limit is None else format(limit, ','):>8}{'  broken' if broken else ''}")
    if asked.where or asked.room:
        print()
        print_rooms(modules)
        for title, places in found.items():
            listed = [place for place in places if asked.room in {None, place.module.room}]
            print(f"\n{title}: {len(listed)}")
            for place in listed:
                print(f"  {place.module.path.relative_to(asked.src)}:{place.line}: {place.what}")
    return int(any(limit is not None and number > limit for _, number, limit in rows))


if __name__ == "__main__":
    sys.exit(main())
