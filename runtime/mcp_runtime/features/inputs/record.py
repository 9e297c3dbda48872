"""What was asked, answered and done in a call so far, as it travels with the client."""

import json
import secrets
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any


@dataclass(slots=True)
class Asked:
    """A question that the client was asked.

    Attributes:
        method: the method of the question.
        digest: what tells its text apart from that of others.
        answer: what the client answered, as it came; None until it has.
    """

    method: str
    digest: str
    answer: dict[str, Any] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the client has not answered it."""
        return self.answer is None


@dataclass(slots=True)
class Record:
    """What was asked, answered and done in a call so far.

    Attributes:
        call: tells the call apart from all others; never shown to anybody.
        rounds: how often the client was asked.
        until: when the client must have come back, as Unix time in seconds.
        questions: what it was asked, by the keys of the questions; those that were answered in the order of that.
        results: what recorded work returned, by its name and how often that name had come before.
    """

    call: str = field(default_factory=lambda: secrets.token_hex(16))
    rounds: int = 0
    until: float = 0.0
    questions: dict[str, Asked] = field(default_factory=dict[str, Asked])
    results: dict[str, Any] = field(default_factory=dict[str, Any])

    def answered(self, key: str, answer: dict[str, Any]) -> None:
        """Note an answer."""
        asked = self.questions.pop(key)
        asked.answer = answer
        self.questions[key] = asked

    def idempotency_key(self, name: str) -> str:
        """Return what a piece of recorded work is known by elsewhere, the same in each repetition."""
        key = name.encode("utf-8", "surrogatepass")
        return blake2b(key, key=bytes.fromhex(self.call), digest_size=16).hexdigest()

    def encode(self) -> bytes:
        """Write it as JSON."""
        questions = {key: [asked.method, asked.digest, asked.answer] for key, asked in self.questions.items()}
        value = [self.call, self.rounds, self.until, questions, self.results]
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")

    @classmethod
    def decode(cls, data: bytes) -> "Record":
        """Read what `encode` wrote."""
        call, rounds, until, questions, results = json.loads(data.decode("utf-8", "surrogatepass"))
        return cls(call, rounds, until, {key: Asked(*asked) for key, asked in questions.items()}, results)
