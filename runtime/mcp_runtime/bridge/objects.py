"""Converts objects: renamed properties, properties that only one side declares, and properties that one requires.

Objects of the protocol are open: a property that a revision does not declare may be present with any value. So a
property that only the newer revision declares is sent to an older one as it is. In the other direction, the newer
revision may not allow its value; then the property is renamed to something undeclared, and gets its own name back on
return.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias

from mcp_runtime.bridge.fallbacks import OBJECTS, WHOLE, InOtherWords
from mcp_runtime.bridge.policy import CAPABILITY, UNDECLARED, LossAction
from mcp_runtime.bridge.steps import ALWAYS, DROPPED, Bare, Convert, Place, Run, Step, needles_of
from mcp_runtime.bridge.table import Fallback, Fit, Node, Object, Shape
from mcp_runtime.core.json.values import is_object

PREFIX: Final = "mcp-bindgen:"
"""The prefix of properties whose own name means something else in the revision of the message."""
MARKS: Final = frozenset((f'"{PREFIX}'.encode(),))
"""What every JSON text with such a name contains."""

_Part = Callable[[dict[str, Any], Place, Run], bool]
"""Changes an object; returns whether the object is kept."""
_Room: TypeAlias = tuple[Callable[[Any], bool], InOtherWords | None]
"""The check for a value where its name is declared, and its fallback."""


class Compiled(Protocol):
    """A table in one direction, as far as the conversion of an object needs it."""

    @property
    def up(self) -> bool:
        """Whether values of the older revision become values of the newer one."""
        ...

    def step(self, node: Node) -> Step | None:
        """Return the step that converts a value; None if nothing has to change."""
        ...

    def check(self, shape: Shape, *, old: bool) -> Callable[[Any], bool]:
        """Return a check whether a value has a shape of the given side."""
        ...

    def action(self, kind: str) -> LossAction:
        """Return what the policy does with a kind."""
        ...

    def replacement(self, fallback: Fallback) -> Convert:
        """Return what replaces a value that the other side cannot express."""
        ...


def object_step(node: Object, compiled: Compiled) -> Step | None:
    """Return the step that converts an object; None if nothing has to change."""
    maker = _Maker(node, compiled)
    maker.run()
    if not maker.parts:
        return None
    parts = tuple(maker.parts)

    def convert(value: Any, at: Place, run: Run) -> Any:
        if is_object(value):
            for part in parts:
                if not part(value, at, run):
                    return DROPPED
        return value

    others = needles_of(maker.needles)
    if not maker.fill:
        return Step(convert, others)
    names = frozenset(f'"{name}"'.encode() for name in maker.fill)
    return Step(convert, ALWAYS, None if others is None else Bare(others | names, maker.fill))


class _Maker:
    """Builds the parts of the conversion of one object, in the order in which they must run."""

    def __init__(self, node: Object, compiled: Compiled) -> None:
        self._node = node
        self._compiled = compiled
        self._up = compiled.up
        self.parts: list[_Part] = []
        self.needles: list[frozenset[bytes] | None] = []
        self.fill: Mapping[str, Any] = {}

    def run(self) -> None:
        """Build the parts."""
        node, up = self._node, self._up
        unknown, new = (node.removed, node.added) if up else (node.added, node.removed)
        self._rooms(new)
        names = dict(node.renamed) if up else {is_: was for was, is_ in node.renamed.items()}
        for was, is_ in names.items():
            self._add(_rename(was, is_), was)
        for name, member in node.members.items():
            step = self._compiled.step(member)
            if step is not None:
                own = name if up or name not in names else names[name]
                if isinstance(member, Fit) and self._says(member.fallback):
                    self._add(
                        _say_unfit(
                            name, self._compiled.check(member.new if up else member.old, old=not up), member.fallback
                        ),
                        own,
                    )
                    continue
                self.parts.append(_member(own, step.convert, needed=name in node.required))
                self.needles.append(step.needles)
        if node.rest is not None:
            self._rest(node.rest)
        for name, fallback in () if up else node.said_otherwise.items():
            self._otherwise(name, fallback)
        self._unknown(unknown)
        self.fill = dict(node.fill_new if up else node.fill_old)
        self.parts += [_fill(name, value) for name, value in self.fill.items()]
        for name, fallback in (node.absent_new if up else node.absent_old).items():
            self.parts.append(_demand(name, self._compiled.replacement(fallback)))
            self.needles.append(None)

    def _rooms(self, new: Mapping[str, Shape]) -> None:
        """Make room for what only the other side declares."""
        rooms: dict[str, _Room] = {}
        for name, fallback in () if self._up else self._node.unfit_old.items():
            self._add(self._unfit(name, new[name], fallback), name)
        for name, shape in new.items():
            otherwise = self._node.said_otherwise.get(name) if self._up else None
            words = None if otherwise is None else OBJECTS[otherwise.convert]
            rooms[name] = self._compiled.check(shape, old=not self._up), words
        if rooms:
            self.parts.append(_make_room(rooms))
            self.needles.append(frozenset(f'"{name}"'.encode() for name in rooms))

    def _unfit(self, name: str, shape: Shape, fallback: Fallback) -> _Part:
        """Return what happens to an object whose property does not fit, or is absent."""
        action, change = self._compiled.action(fallback.kind), WHOLE[fallback.convert]
        fits, replace = self._compiled.check(shape, old=not self._up), self._compiled.replacement(fallback)

        def change_whole(held: dict[str, Any], at: Place, run: Run) -> bool:
            if name in held and fits(held[name]):
                return True
            if action is not LossAction.FALLBACK:
                return name not in held or replace(held, (*at, name), run) is not DROPPED
            is_kept = change(held)
            if is_kept is not None:
                run.report(fallback.kind, action, (*at, name))
            return is_kept is not False

        return change_whole

    def _add(self, part: _Part, name: str) -> None:
        self.parts.append(part)
        self.needles.append(frozenset((f'"{name}"'.encode(),)))

    def _says(self, fallback: Fallback) -> bool:
        """Whether the rest of an object can express one of its properties."""
        return fallback.convert in OBJECTS and self._compiled.action(fallback.kind) is LossAction.FALLBACK

    def _rest(self, rest: Node) -> None:
        step = self._compiled.step(rest)
        if step is not None:
            self.parts.append(_each(frozenset(self._node.declared), step.convert))
            self.needles.append(step.needles)

    def _otherwise(self, name: str, fallback: Fallback) -> None:
        action = self._compiled.action(fallback.kind)
        if action is LossAction.FALLBACK:
            self._add(_say(name, fallback), name)
        elif action is LossAction.DROP:
            self._add(_forget(name, fallback.kind), name)
        else:
            replace = self._compiled.replacement(fallback)
            self._add(lambda held, at, run: name not in held or bool(replace(held, (*at, name), run)), name)

    def _unknown(self, names: Mapping[str, object]) -> None:
        """Drop what the other side does not declare, if so configured; otherwise restore the original names."""
        kind = CAPABILITY if self._node.is_capabilities else UNDECLARED
        action = LossAction.DROP if self._node.is_capabilities else self._compiled.action(kind)
        for name in names:
            if name in self._node.said_otherwise and not self._up:
                pass
            elif action is LossAction.DROP:
                self._add(_forget(name, kind), name)
            elif action is LossAction.REFUSE:
                refuse = self._compiled.replacement(Fallback(kind=kind))
                self._add(_refuse(name, refuse), name)
        if names:
            self.parts.append(_give_back(tuple(names), self._node.fill_old if self._up else self._node.fill_new))
            self.needles.append(MARKS)


def _make_room(rooms: Mapping[str, _Room]) -> _Part:
    """Rename properties whose values the other side does not allow.

    Those that stay are marked if the conversion back would translate them by mistake.
    """

    def make_room(held: dict[str, Any], at: Place, run: Run) -> bool:
        for name in [name for name in rooms if name in held]:
            fits, words = rooms[name]
            if not fits(held[name]):
                held[PREFIX + name] = held.pop(name)
            elif words is not None and not words.is_said(held):
                held[PREFIX + name] = True
        return True

    return make_room


def _give_back(names: tuple[str, ...], filled: Mapping[str, Any]) -> _Part:
    """Restore the names of renamed properties, even where something was filled in under the name since."""
    taken = {PREFIX + name: name for name in names}

    def give_back(held: dict[str, Any], at: Place, run: Run) -> bool:
        for mark in [mark for mark in taken if mark in held]:
            name = taken[mark]
            if name not in held or (name in filled and held[name] == filled[name]):
                held[name] = held.pop(mark)
        return True

    return give_back


def _rename(was: str, is_: str) -> _Part:
    def rename(held: dict[str, Any], at: Place, run: Run) -> bool:
        if was in held:
            held[is_] = held.pop(was)
        return True

    return rename


def _member(name: str, convert: Convert, *, needed: bool) -> _Part:
    def convert_member(held: dict[str, Any], at: Place, run: Run) -> bool:
        if name in held:
            found = convert(held[name], (*at, name), run)
            if found is DROPPED:
                if needed:
                    return False
                del held[name]
            else:
                held[name] = found
        return True

    return convert_member


def _each(known: frozenset[str], convert: Convert) -> _Part:
    def convert_each(held: dict[str, Any], at: Place, run: Run) -> bool:
        for name in [name for name in held if name not in known]:
            found = convert(held[name], (*at, name), run)
            if found is DROPPED:
                del held[name]
            else:
                held[name] = found
        return True

    return convert_each


def _say(name: str, fallback: Fallback) -> _Part:
    words, mark = OBJECTS[fallback.convert], PREFIX + name

    def say_member(held: dict[str, Any], at: Place, run: Run) -> bool:
        # A marked property was never declared by its sender, so there is nothing to express.
        if name in held and held.pop(mark, None) is not True and not words.is_said(held):
            words.say(held)
            run.report(fallback.kind, LossAction.FALLBACK, (*at, name))
        return True

    return say_member


def _say_unfit(name: str, fits: Callable[[Any], bool], fallback: Fallback) -> _Part:
    words = OBJECTS[fallback.convert]

    def say_unfit(held: dict[str, Any], at: Place, run: Run) -> bool:
        if name in held and not fits(held[name]):
            if not words.is_said(held):
                words.say(held)
            run.report(fallback.kind, LossAction.FALLBACK, (*at, name))
            held[name] = words.wrap(held[name])
        return True

    return say_unfit


def _forget(name: str, kind: str) -> _Part:
    def forget(held: dict[str, Any], at: Place, run: Run) -> bool:
        if name in held:
            run.report(kind, LossAction.DROP, (*at, name))
            del held[name]
        return True

    return forget


def _refuse(name: str, refuse: Convert) -> _Part:
    def refuse_member(held: dict[str, Any], at: Place, run: Run) -> bool:
        return name not in held or refuse(held[name], (*at, name), run) is not DROPPED

    return refuse_member


def _fill(name: str, value: Any) -> _Part:
    def fill(held: dict[str, Any], at: Place, run: Run) -> bool:
        held.setdefault(name, value)
        return True

    return fill


def _demand(name: str, replace: Convert) -> _Part:
    def demand(held: dict[str, Any], at: Place, run: Run) -> bool:
        if name not in held:
            found = replace(None, (*at, name), run)
            if found is DROPPED:
                return False
            held[name] = found
        return True

    return demand
