"""Read the ``.pyi`` files of the torch wheel with LibCST.

Three quarters of the names in ``torch.__all__`` are builtins that say nothing about their
parameters; the stubs that torch generates for type checkers do, with overloads and defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import libcst as cst

from generator.facts import notation
from generator.facts.model import Parameter, ParameterKind, Signature
from generator.facts.notation import Resolve
from generator.facts.sources import ModuleSource


@dataclass
class StubFunction:
    """One ``def`` of a stub, not yet resolved."""

    node: cst.FunctionDef
    decorators: frozenset[str]


@dataclass
class StubClass:
    """One class of a stub: its bases as written and its methods with all overloads."""

    bases: tuple[str, ...]
    methods: dict[str, list[StubFunction]] = field(default_factory=dict)


class Stub:
    """The module-level functions and classes of one stub file."""

    def __init__(self, module: str, path: Path) -> None:
        self.module = module
        self.is_package = path.name == "__init__.pyi"
        # ``names`` looks like any other source to the code that follows imports.
        self.names = ModuleSource(module, "", self.is_package)
        self.functions: dict[str, list[StubFunction]] = {}
        self.classes: dict[str, StubClass] = {}
        self._tree = cst.parse_module(path.read_text(encoding="utf-8"))
        self._texts: dict[str, str] = {}
        self._collect(self._tree.body)
        for name in (*self.functions, *self.classes):
            self.names.functions.setdefault(name, [])

    def _collect(self, body: Sequence[cst.BaseStatement]) -> None:
        for node in body:
            match node:
                case cst.FunctionDef():
                    self.functions.setdefault(node.name.value, []).append(_function(node))
                case cst.ClassDef():
                    self.classes[node.name.value] = self._class(node)
                case cst.If():
                    self._collect(_statements(node.body))
                case cst.SimpleStatementLine():
                    for small in node.body:
                        self._simple(small)
                case _:
                    pass  # nothing else defines names in a stub

    def _simple(self, node: cst.BaseSmallStatement) -> None:
        match node:
            case cst.ImportFrom(names=names) if not isinstance(names, cst.ImportStar):
                base = _dotted(node.module) if node.module else ""
                if node.relative:
                    parts = self.module.split(".")
                    keep = len(parts) - len(node.relative) + (1 if self.is_package else 0)
                    base = ".".join([*parts[:keep], *([base] if base else [])])
                for alias in names:
                    bound = _dotted(alias.asname.name) if alias.asname else alias.evaluated_name
                    self.names.imports[bound] = f"{base}.{alias.evaluated_name}"
            case cst.Import():
                for alias in node.names:
                    name = alias.evaluated_name
                    if alias.asname:
                        self.names.imports[_dotted(alias.asname.name)] = name
                    else:
                        self.names.imports[name.partition(".")[0]] = name.partition(".")[0]
            case cst.AnnAssign(target=cst.Name(value=name)):
                self.names.functions.setdefault(name, [])
            case cst.Assign():
                for target in node.targets:
                    if isinstance(target.target, cst.Name):
                        self.names.functions.setdefault(target.target.value, [])
            case _:
                pass

    def _class(self, node: cst.ClassDef) -> StubClass:
        bases = tuple(self._tree.code_for_node(item.value) for item in node.bases)
        found = StubClass(bases)
        for statement in _statements(node.body):
            if isinstance(statement, cst.FunctionDef):
                found.methods.setdefault(statement.name.value, []).append(_function(statement))
        return found

    def signature(self, function: StubFunction, resolve: Resolve, bound: bool) -> Signature:
        """Turn a ``def`` into a signature; ``bound`` drops its first parameter."""
        parameters = list(self._parameters(function.node.params, resolve))
        if bound and parameters and "staticmethod" not in function.decorators:
            if parameters[0].kind != "var_positional":
                parameters = parameters[1:]
        returns = function.node.returns
        text = self._annotation(returns.annotation, resolve) if returns else None
        return Signature(tuple(parameters), text)

    def _parameters(self, params: cst.Parameters, resolve: Resolve) -> Iterator[Parameter]:
        def one(param: cst.Param, kind: ParameterKind) -> Parameter:
            annotation = param.annotation
            default = self._code(param.default) if param.default is not None else None
            return Parameter(
                param.name.value,
                kind,
                default,
                self._annotation(annotation.annotation, resolve) if annotation else None,
                self._default(param.default, resolve) if param.default is not None else None,
            )

        for param in params.posonly_params:
            yield one(param, "positional_only")
        for param in params.params:
            yield one(param, "positional_or_keyword")
        if isinstance(params.star_arg, cst.Param):
            yield one(params.star_arg, "var_positional")
        for param in params.kwonly_params:
            yield one(param, "keyword_only")
        if params.star_kwarg is not None:
            yield one(params.star_kwarg, "var_keyword")

    def _code(self, node: cst.BaseExpression) -> str:
        if isinstance(node, cst.Name):
            return node.value
        return " ".join(self._tree.code_for_node(node).split())

    def _annotation(self, node: cst.BaseExpression, resolve: Resolve) -> str:
        text = self._code(node)
        if text not in self._texts:
            self._texts[text] = notation.from_text(text, resolve)
        return self._texts[text]

    def _default(self, node: cst.BaseExpression, resolve: Resolve) -> str:
        text = self._code(node)
        if isinstance(node, (cst.Integer, cst.Float, cst.SimpleString, cst.Ellipsis)):
            return text
        key = f"= {text}"
        if key not in self._texts:
            self._texts[key] = notation.default_text(text, resolve)
        return self._texts[key]


def _function(node: cst.FunctionDef) -> StubFunction:
    names = (
        item.decorator.value for item in node.decorators if isinstance(item.decorator, cst.Name)
    )
    return StubFunction(node, frozenset(names))


def _statements(body: cst.BaseSuite) -> Sequence[cst.BaseStatement]:
    return body.body if isinstance(body, cst.IndentedBlock) else ()


def _dotted(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def stub_files(package: Path) -> dict[str, Path]:
    """Module name and path of every stub in a torch installation, by module name."""
    found: dict[str, Path] = {}
    for path in sorted(package.rglob("*.pyi")):
        parts = ["torch", *path.relative_to(package).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        found[".".join(parts)] = path
    return found
