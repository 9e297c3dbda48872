"""Compiles a table to functions, one per method, part and direction; more distant revisions compose them.

A converter works on parsed JSON and takes ownership of it: objects and arrays are changed in place. Values that do not
have the shape of their revision are left alone, since validating the outcome explains best what is wrong with them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pydantic_core import to_json

from mcp_runtime.bridge.fallbacks import VALUES
from mcp_runtime.bridge.objects import PREFIX, object_step
from mcp_runtime.bridge.policy import Loss, LossAction, NotExpressible
from mcp_runtime.bridge.shapes import Checks
from mcp_runtime.bridge.steps import ALWAYS, DROPPED, Bare, Convert, Place, ReportedLoss, Run, Step, needles_of
from mcp_runtime.bridge.table import (
    Alone,
    Array,
    Choice,
    Fallback,
    Fit,
    Members,
    Named,
    Node,
    Object,
    Shape,
    Table,
    Use,
)
from mcp_runtime.bridge.tags import spelled, tag, tag_of, words_of
from mcp_runtime.core.json.values import is_array, is_object, spell_pointer

Policy: TypeAlias = Mapping[str, LossAction]
Report: TypeAlias = Callable[[Loss], None]

_Stranger: TypeAlias = tuple[str, Callable[[Any], bool], "frozenset[bytes] | None"]
"""A form of the other side: its kind, a check whether a value looks like it, and words that such values contain."""

PARAMS: Final = "params"
RESULT: Final = "result"


@dataclass(frozen=True, slots=True)
class Converter:
    """Converts one part of one method's messages, through one table after the other."""

    method: str
    part: str
    steps: tuple[tuple[Step, str], ...]
    words: re.Pattern[bytes] | None
    """Finds the words that only texts that need conversion contain, apart from `fill`; None if there are none."""
    fill: Mapping[str, Any]
    """The properties that are added in any case."""
    head: bytes
    """The same, as the beginning of a JSON text."""

    def filled(self, text: bytes) -> bytes:
        """Return a JSON text that needs no conversion, with the properties that are added in any case."""
        return text if not self.fill else self.head + (b"," if text != b"{}" else b"") + text[1:]

    def concerns(self, text: bytes) -> bool:
        """Whether a message of ours may need conversion: whether its JSON contains a relevant word.

        A peer's own JSON may spell these words with escapes.
        """
        return self.words is None or self.words.search(text) is not None

    def convert(self, value: Any, report: Report, reported: set[ReportedLoss] | None = None) -> Any:
        """Return the part converted to the other revision.

        Args:
            value: the part.
            report: called with each loss.
            reported: the losses already reported; None to report all.

        Raises:
            NotExpressible: the policy refuses a value, or it cannot be dropped without dropping the whole part.
        """
        for step, revision in self.steps:
            value = step.convert(value, (), Run(self.method, self.part, revision, report, reported))
            if value is DROPPED:
                kind = "what it is about"
                raise NotExpressible(kind=kind, revision=revision, method=self.method, pointer="")
        return value


def converter(method: str, part: str, steps: Sequence[tuple[Step, str]]) -> Converter | None:
    """Return the converter of a part of a method's messages; None if there are no steps."""
    if not steps:
        return None
    needles = needles_of(step.bare.needles if step.bare else step.needles for step, _ in steps)
    fill: dict[str, Any] = {}
    for step, _ in steps:
        fill |= step.bare.fill if step.bare and needles is not None else {}
    # All of them begin with a quote, which is found quickly in long texts.
    words = b'"(?:%b)' % b"|".join(re.escape(needle[1:]) for needle in sorted(needles)) if needles is not None else b""
    pattern = re.compile(words) if needles is not None else None
    return Converter(method, part, tuple(steps), pattern, fill, to_json(fill)[:-1])


class Compiled:
    """One table in one direction; its functions are compiled on first use.

    Args:
        table: the table.
        up: whether values of the older revision become values of the newer one.
        policy: the action for each kind of value that the other revision cannot express.
    """

    def __init__(self, table: Table, *, up: bool, policy: Policy) -> None:
        self._table = table
        self._up = up
        self.policy = policy
        self._old, self._new = Checks(table.shapes), Checks(table.shapes)
        self._used: dict[str, Step | None] = {}
        self._within: set[str] = set()
        self.target = table.new if up else table.old
        self._methods = {m.old if up else m.new: m for m in table.methods}

    @property
    def up(self) -> bool:
        """Whether values of the older revision become values of the newer one."""
        return self._up

    def renamed(self, method: str) -> str:
        """Return the name of a method on the other side."""
        found = self._methods.get(method)
        return method if found is None else found.new if self._up else found.old

    def part(self, method: str, part: str) -> Step | None:
        """Return the step that converts a part of a method's messages; None if nothing has to change."""
        node = self._node(method, part)
        return None if node is None else self.step(node)

    def declared(self, side: str) -> Step | None:
        """Return the step that converts a ``client``'s or ``server``'s capabilities; None if nothing has to change."""
        node = self._table.capabilities.get(side)
        return None if node is None else self.step(node)

    def differs(self, method: str, part: str) -> bool:
        """Whether the types of a part differ at all, even if no value of this side has to change."""
        return self._node(method, part) is not None

    def refuses_more(self, method: str, part: str) -> bool:
        """Whether this side may reject a value, once converted, that is valid on the other side."""
        node = self._node(method, part)
        return node is not None and self._refuses_more(node, set())

    def _refuses_more(self, node: Node, seen: set[str]) -> bool:
        match node:
            case Use(name=name):
                is_new = name not in seen
                seen.add(name)
                return is_new and self._refuses_more(self._table.nodes[name], seen)
            case Array(item=item):
                return self._refuses_more(item, seen)
            case Object():
                own = node.removed if self._up else node.added
                demands = (own, node.renamed, node.fill_old, node.fill_new, node.absent_old, node.absent_new)
                inner = [*node.members.values(), *([] if node.rest is None else [node.rest])]
                return any(demands) or any(self._refuses_more(member, seen) for member in inner)
            case Choice() | Fit():
                return True

    def _node(self, method: str, part: str) -> Node | None:
        found = self._methods.get(method)
        return None if found is None else found.params if part == PARAMS else found.result

    def check(self, shape: Shape, *, old: bool) -> Callable[[Any], bool]:
        """Return a check whether a value has a shape of the given side."""
        return (self._old if old else self._new).check(shape)

    def action(self, kind: str) -> LossAction:
        """Return what the policy does with a kind."""
        return self.policy.get(kind, LossAction.FALLBACK)

    def step(self, node: Node) -> Step | None:
        """Return the step that converts a value; None if nothing has to change."""
        match node:
            case Use(name=name):
                return self._use(name)
            case Object():
                return object_step(node, self)
            case Array():
                return self._array(node)
            case Choice():
                return self._choice(node)
            case Fit():
                return self._fit(node)

    def _use(self, name: str) -> Step | None:
        if name in self._within:
            # A recursive object: looked up when needed, and only then.
            return Step(lambda value, at, run: self._late(name, value, at, run), ALWAYS)
        if name not in self._used:
            self._within.add(name)
            self._used[name] = object_step(self._table.nodes[name], self)
            self._within.remove(name)
        return self._used[name]

    def _late(self, name: str, value: Any, at: Place, run: Run) -> Any:
        step = self._used[name]
        return value if step is None else step.convert(value, at, run)

    def _array(self, node: Array) -> Step | None:
        item = self.step(node.item)
        split = node.split if not self._up and self.action(node.kind) is LossAction.FALLBACK else ""
        if item is None:
            return None
        convert = item.convert

        def each(value: Any, at: Place, run: Run) -> Any:
            if not is_array(value):
                return value
            found: list[Any] = []
            for index, inner in enumerate(_split(value, node, at, run) if split else value):
                converted = convert(inner, (*at, index), run)
                if converted is not DROPPED:
                    found.append(converted)
            return found

        return Step(each, item.needles)

    def _fit(self, node: Fit) -> Step:
        fits = self.check(node.new if self._up else node.old, old=not self._up)
        replace = self.replacement(node.fallback)
        return Step(lambda value, at, run: value if fits(value) else replace(value, at, run), ALWAYS)

    def replacement(self, fallback: Fallback) -> Convert:
        """Return what replaces a value that the other side cannot express."""
        action, kind = self.action(fallback.kind), fallback.kind
        convert = VALUES.get(fallback.convert)
        if action is LossAction.DROP:

            def drop(value: Any, at: Place, run: Run) -> Any:
                run.report(kind, action, at)
                return DROPPED

            return drop
        if action is LossAction.REFUSE or convert is None:

            def refuse(value: Any, at: Place, run: Run) -> Any:
                run.report(kind, LossAction.REFUSE, at)
                raise NotExpressible(kind=kind, revision=run.revision, method=run.method, pointer=spell_pointer(at))

            return refuse

        def say_otherwise(value: Any, at: Place, run: Run) -> Any:
            run.report(kind, LossAction.FALLBACK, at)
            return convert(value)

        return say_otherwise

    def _choice(self, node: Choice) -> Step | None:
        sources = [pair.old if self._up else pair.new for pair in node.pairs]
        alone = node.gone if self._up else node.come
        steps = [None if pair.node is None else self.step(pair.node) for pair in node.pairs]
        strangers = self._strangers(node)
        if not alone and not strangers and not any(steps):
            return None
        known = list(zip(sources, steps, strict=True))
        key = self._key([*sources, *(form.shape for form in alone)])
        step = self._tagged(key, known, alone) if key else self._judged(known, alone)
        return _marking(step, strangers) if strangers else step

    def _strangers(self, node: Choice) -> list[_Stranger]:
        """Return the forms of the other side that a value of this side may resemble by accident.

        On the way back such a value would be translated, although it never was a translation.
        """
        targets = [pair.new if self._up else pair.old for pair in node.pairs]
        alone = node.come if self._up else node.gone
        if self._key([*targets, *(form.shape for form in alone)]):
            return []
        return [
            (form.fallback.kind, self.check(form.shape, old=not self._up), words_of(self._resolved(form.shape)))
            for form in alone
            if form.fallback.convert and isinstance(self._resolved(form.shape), Members)
        ]

    def _key(self, forms: Sequence[Shape]) -> str:
        return tag_of([self._resolved(form) for form in forms])

    def _tagged(self, key: str, known: Sequence[tuple[Shape, Step | None]], alone: Sequence[Alone]) -> Step:
        """Distinguish objects by their constants, and all other values by their shapes."""
        objects: dict[Any, Convert] = {}
        others: list[tuple[Callable[[Any], bool], Convert]] = []
        needles: list[frozenset[bytes] | None] = []
        both: list[tuple[Shape, Convert | None, frozenset[bytes] | None]] = [
            (shape, step.convert if step else None, step.needles if step else frozenset()) for shape, step in known
        ]
        for form in alone:
            constant = tag(self._resolved(form.shape), key)
            needle = ALWAYS if constant is None else frozenset((spelled(constant),))
            both.append((form.shape, self._again(form, lambda: convert), needle))
        for shape, found, needle in both:
            constant = tag(self._resolved(shape), key)
            needles.append(needle)
            if found is not None and constant is not None:
                objects[constant] = found
            elif constant is None:
                others.append((self.check(shape, old=self._up), found or _unchanged))

        def convert(value: Any, at: Place, run: Run) -> Any:
            if is_object(value):
                own = value.get(key)
                found = objects.get(own) if isinstance(own, str) else None
                return value if found is None else found(value, at, run)
            for check, convert_it in others:
                if check(value):
                    return convert_it(value, at, run)
            return value

        return Step(convert, needles_of(needles))

    def _judged(self, known: Sequence[tuple[Shape, Step | None]], alone: Sequence[Alone]) -> Step:
        """Distinguish the forms by their shapes: first the ones that need translation, then those on both sides."""
        old = self._up
        judged = [(f.fallback, self.check(f.shape, old=old), self._again(f, lambda: convert)) for f in alone]
        worded = [(PREFIX + f.kind, check, replace) for f, check, replace in judged if f.convert]
        others = [(check, replace) for f, check, replace in judged if not f.convert]
        pairs = [(self.check(shape, old=old), step.convert if step else _unchanged) for shape, step in known]
        needles = [step.needles for _, step in known if step]
        needles += [words_of(self._resolved(form.shape)) for form in alone]

        def convert(value: Any, at: Place, run: Run) -> Any:
            for mark, check, replace in worded:
                if check(value) and not (is_object(value) and value.pop(mark, None) is True):
                    return replace(value, at, run)
            stranger = next((replace for check, replace in others if check(value)), None)
            if stranger is None and len(pairs) == 1:
                return pairs[0][1](value, at, run)
            for check, convert_it in pairs:
                if check(value):
                    return convert_it(value, at, run)
            return value if stranger is None else stranger(value, at, run)

        found = needles_of(needles)
        bare = known[0][1].bare if len(known) == 1 and known[0][1] else None
        words = needles_of(words_of(self._resolved(form.shape)) for form in alone)
        return Step(convert, found, None if bare is None or words is None else Bare(bare.needles | words, bare.fill))

    def _again(self, form: Alone, choice: Callable[[], Convert]) -> Convert:
        """Return the replacement of a form, converted in turn if the other side cannot express it either."""
        replace = self.replacement(form.fallback)

        def convert(value: Any, at: Place, run: Run) -> Any:
            found = replace(value, at, run)
            return found if found is DROPPED else choice()(found, at, run)

        return convert if form.fallback.convert else replace

    def _resolved(self, shape: Shape) -> Shape:
        while isinstance(shape, Named):
            shape = self._table.shapes[shape.name]
        return shape


def _marking(step: Step, strangers: Sequence[_Stranger]) -> Step:
    """Mark values that resemble a form of the other side by accident."""
    inner = step.convert

    def convert(value: Any, at: Place, run: Run) -> Any:
        found = inner(value, at, run)
        if is_object(found):
            for kind, check, _ in strangers:
                if check(found):
                    found[PREFIX + kind] = True
        return found

    return Step(convert, needles_of((step.needles, *(needles for _, _, needles in strangers))))


def _split(items: list[Any], node: Array, at: Place, run: Run) -> list[Any]:
    """Return one item for each of the values that a property combines."""
    member = node.split
    found: list[Any] = []
    for index, item in enumerate(items):
        values = item.get(member) if is_object(item) else None
        if is_array(values):
            run.report(node.kind, LossAction.FALLBACK, (*at, index, member))
            parts: list[Any] = values or [{"type": "text", "text": ""}]
            found += [{**item, member: part} for part in parts]
        else:
            found.append(item)
    return found


def _unchanged(value: Any, at: Place, run: Run) -> Any:
    return value
