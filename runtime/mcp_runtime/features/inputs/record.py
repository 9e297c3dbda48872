"""What was asked, answered and done in a call so far. It travels with the client."""

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
        digest: identifies the question by its content.
        answer: the client's answer as received; None until it has arrived.
    """

    method: str
    digest: str
    answer: dict[str, Any] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the client has not answered it yet."""
        return self.answer is None


@dataclass(slots=True)
class Record:
    """What was asked, answered and done in a call so far.

    Attributes:
        call: identifies the call; never revealed to anyone.
        rounds: how often the client was asked.
        until: when the client must have come back, as Unix time in seconds.
        questions: the questions by their keys; answered ones in the order in which they were answered.
        results: the results of recorded work, by its name and how often that name had occurred before.
    """

    call: str = field(default_factory=lambda: secrets.token_hex(16))
    rounds: int = 0
    until: float = 0.0
    questions: dict[str, Asked] = field(default_factory=dict[str, Asked])
    results: dict[str, Any] = field(default_factory=dict[str, Any])

    def answered(self, key: str, answer: dict[str, Any]) -> None:
        """Record an answer."""
        asked = self.questions.pop(key)
        asked.answer = answer
        self.questions[key] = asked

    def idempotency_key(self, name: str) -> str:
        """Return the key that identifies a piece of recorded work to other systems, the same in each repetition."""
        key = name.encode("utf-8", "surrogatepass")
        return blake2b(key, key=bytes.fromhex(self.call), digest_size=16).hexdigest()

    def encode(self) -> bytes:
        """Encode the record as JSON."""
        questions = {key: [asked.method, asked.digest, asked.answer] for key, asked in self.questions.items()}
        value = [self.call, self.rounds, self.until, questions, self.results]
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")

    @classmethod
    def decode(cls, data: bytes) -> "Record":
        """Decode what `encode` wrote."""
        call, rounds, until, questions, results = json.loads(data.decode("utf-8", "surrogatepass"))
        return cls(call, rounds, until, {key: Asked(*asked) for key, asked in questions.items()}, results)
