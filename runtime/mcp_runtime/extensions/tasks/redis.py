"""Task storage in Redis, which several machines may share. Needs the extra ``mcp-bindings[redis]``."""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Unpack

from mcp_runtime.cluster.redis import Keys
from mcp_runtime.core import sources
from mcp_runtime.core.connection.timers import log
from mcp_runtime.extensions.tasks.states import TRANSITIONS, Outcome, Status, TaskRecord
from mcp_runtime.extensions.tasks.store import (
    DEFAULT_LEASE,
    NOTHING,
    InvalidTransition,
    LeasedStore,
    StoreLimits,
    StoreUnavailable,
    UnknownTask,
    outcome_of,
    size_of,
    spelled,
    too_large,
    too_many,
    unknown,
)

if TYPE_CHECKING:
    from redis.asyncio import Redis

TIMEOUT: Final = 5.0
"""Seconds to wait for Redis, and without an error until an outage counts as over."""

_COMMON: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function is_over(status) return status ~= 'working' and status ~= 'input_required' end
local function number(text) return tonumber(text or '') or 0 end
local function read(task, ...)
  local found = redis.pcall('HMGET', task, ...)
  return found['err'] and {} or found
end
local function state(task)
  local found = read(task, 'created', 'updated', 'ttl', 'status', 'message', 'questions', 'outcome', 'lease', 'scopes')
  if found[1] ~= nil then found[8] = (not is_over(found[4]) and number(found[8]) < now) and 1 or 0 end
  return found
end
"""
"""The clock of Redis decides, since those of several machines differ.

The client repeats a script if the connection broke before its answer, so none does more when it runs twice. A value of
another program must not make a script fail, which would affect other tasks.
"""
_CREATE: Final = """
local task, id, ttl = KEYS[1], ARGV[1], ARGV[2]
if redis.call('EXISTS', task) == 1 then return state(task) end
for index = 2, 3 do
  local limit, full, left = tonumber(ARGV[index + 1]), KEYS[index] .. ':full', 1000
  if redis.call('ZCARD', KEYS[index]) >= limit then
    for _, each in ipairs(redis.call('EXISTS', full) == 0 and redis.call('ZRANGE', KEYS[index], 0, -1) or {}) do
      local lives = redis.call('PTTL', ARGV[5] .. each)
      if lives == -2 then redis.call('ZREM', KEYS[index], each)
      elseif lives ~= -1 then left = math.max(1, math.min(left, lives)) end
    end
    if redis.call('ZCARD', KEYS[index]) >= limit then
      redis.call('SET', full, '', 'PX', left, 'NX')
      return redis.call('ZCARD', KEYS[2])
    end
  end
end
local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2]
for index = 2, 3 do
  local left = redis.call('PTTL', KEYS[index])
  redis.call('ZADD', KEYS[index], math.max(now, (last or 0) + 1), id)
  if ttl == '' then redis.call('PERSIST', KEYS[index])
  elseif left ~= -1 then redis.call('PEXPIRE', KEYS[index], math.max(left, ttl)) end
end
redis.call('HSET', task, 'owner', ARGV[6], 'created', now, 'updated', now, 'ttl', ttl, 'status', 'working',
  'message', '', 'questions', '{}', 'holder', ARGV[7], 'lease', now + ARGV[8], 'scopes', ARGV[9])
if ttl ~= '' then redis.call('PEXPIRE', task, ttl) end
return state(task)
"""
"""An owner with too many tasks costs little until the first of them expires, or for a second."""
_GET: Final = """
return read(KEYS[1], 'owner')[1] == ARGV[1] and state(KEYS[1])
"""
_MOVE: Final = """
local task, own = KEYS[1], read(KEYS[1], 'owner', 'status', 'move')
if own[1] ~= ARGV[1] then return false end
if own[3] == ARGV[2] then return state(task) end
if not string.find(ARGV[3], own[2] or '?', 1, true) then return own[2] or '?' end
local size = tonumber(ARGV[8])
if size > 0 then
  for _, each in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
    size = size + number(read(ARGV[10] .. each, 'size')[1])
  end
  if size > tonumber(ARGV[9]) then return 'full' end
end
redis.call('HSET', task, 'move', ARGV[2], 'status', ARGV[4], 'message', ARGV[5], 'questions', ARGV[6], 'updated', now,
  'size', ARGV[8])
if ARGV[7] ~= '' then redis.call('HSET', task, 'outcome', ARGV[7]) end
local open = cjson.decode(ARGV[6])
for _, name in ipairs(redis.call('HKEYS', task)) do
  if string.sub(name, 1, 7) == 'answer:' and not open[string.sub(name, 8)] then redis.call('HDEL', task, name) end
end
return state(task)
"""
_PAGE: Final = """
local found, rows = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf', 'WITHSCORES'), {}
for index = 1, #found, 2 do
  local task = ARGV[3] .. found[index]
  if #rows > tonumber(ARGV[2]) then break end
  if redis.call('EXISTS', task) == 1 then rows[#rows + 1] = {found[index], found[index + 1], state(task)} end
end
return rows
"""
_FORGET: Final = """
for _, each in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('UNLINK', ARGV[1] .. each) end
redis.call('UNLINK', KEYS[1], KEYS[1] .. ':full')
"""
_RENEW: Final = """
local found = {}
for index, task in ipairs(KEYS) do
  local own = read(task, 'holder', 'status')
  if own[1] ~= ARGV[1] or is_over(own[2]) then
    found[#found + 1] = {index - 1}
  else
    if ARGV[2] ~= '' then
      redis.call('HSET', task, 'lease', now + ARGV[2])
      redis.call('HDEL', task, 'claimed')
    end
    local fields, answers = redis.call('HGETALL', task), {index - 1}
    for each = 1, #fields, 2 do
      if string.sub(fields[each], 1, 7) == 'answer:' then
        answers[#answers + 1] = string.sub(fields[each], 8)
        answers[#answers + 1] = fields[each + 1]
      end
    end
    if #answers > 1 then found[#found + 1] = answers end
  end
end
return found
"""
_PUT: Final = """
if read(KEYS[1], 'owner')[1] then redis.call('HSET', KEYS[1], unpack(ARGV)) end
"""
_DROP: Final = """
redis.call('HDEL', KEYS[1], unpack(ARGV))
"""
_TAKE: Final = """
local own = read(KEYS[1], 'lease', 'status', 'work', 'claimed')
if not own[1] or number(own[1]) >= now or is_over(own[2]) then return false end
if number(own[4]) == 0 then redis.call('HSET', KEYS[1], 'claimed', now) end
if now < (number(own[4]) == 0 and now or number(own[4])) + ARGV[2] / 2 then return false end
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'lease', now + ARGV[2])
redis.call('HDEL', KEYS[1], 'claimed')
return own[3] or '{}'
"""
"""After an outage of Redis, all leases have lapsed: processes that live get half a lease to renew theirs."""


class RedisTaskStore(LeasedStore):
    """Stores tasks in Redis; it implements `SharedTaskStore`.

    Redis must not evict keys (``maxmemory-policy noeviction``), and must persist them across restarts (``appendonly
    yes``): a run whose task Redis has lost is stopped. A task that cannot be read counts as unknown.

    Args:
        redis: the client.
        prefix: the prefix of all keys.
        lease: seconds after which a process that has not renewed the lease of a task counts as ended.
        limits: see `StoreLimits`.

    Raises:
        ValueError: the prefix is empty, the client decodes responses, a number is negative, or the page size or the
            lease is 0.
    """

    place = "Redis"

    def __init__(
        self, redis: "Redis", *, prefix: str = "mcp", lease: float = DEFAULT_LEASE, **limits: Unpack[StoreLimits]
    ) -> None:
        super().__init__(lease, **limits)
        self._redis: Any = redis
        self._key = Keys(redis, prefix)
        self._tasks = self._key("task", "")
        self._failed: float | None = None
        self._forgetting: set[asyncio.Task[Any]] = set()

    async def create(
        self, owner: str, ttl: int | None, *, peer: str | None = None, scopes: frozenset[str] = frozenset()
    ) -> TaskRecord:
        """Create a task; see `TaskStore.create`."""
        task_id, kept = sources.token_hex(16), self._kept(ttl)
        share = self._max_tasks if peer is None else (self._max_tasks + 1) // 2
        keys = self._tasks + task_id, self._order(owner), self._order(owner, peer or "")
        limits = self._max_tasks, share, self._tasks
        lease = self._holder, round(self._lease * 1000)
        found = await self._run(
            _CREATE, keys, task_id, "" if kept is None else kept, *limits, owner, *lease, " ".join(scopes)
        )
        if isinstance(found, int):
            raise too_many(found)
        return self._record(task_id, found)

    async def get(self, owner: str, task_id: str) -> TaskRecord:
        """Return the current state of a task; see `TaskStore.get`."""
        return self._record(task_id, await self._run(_GET, [self._tasks + task_id], owner))

    async def move(
        self,
        owner: str,
        task_id: str,
        status: Status,
        *,
        message: str = "",
        outcome: Outcome | None = None,
        questions: Mapping[str, Any] = NOTHING,
    ) -> TaskRecord:
        """Move a task to another state; see `TaskStore.move`."""
        before = [each for each in Status if status in TRANSITIONS[each] or (each is status and TRANSITIONS[each])]
        ended, size = "" if outcome is None else spelled(outcome), size_of(outcome)
        state = ",".join(before), status.value, message, json.dumps(dict(questions)), ended, size
        keys = self._tasks + task_id, self._order(owner)
        found = await self._run(_MOVE, keys, owner, sources.token_hex(8), *state, self._max_bytes, self._tasks)
        if found == b"full":
            raise too_large()
        if isinstance(found, bytes):
            raise InvalidTransition(self._read(task_id, lambda: Status(found.decode())), status)
        return self._record(task_id, found)

    async def wait(self, owner: str, task_id: str) -> Outcome:
        """Return the outcome of a task; see `TaskStore.wait`."""
        while True:
            found = await self._run(_GET, [self._tasks + task_id], owner)
            self._record(task_id, found)
            if found[6] is not None:
                return self._read(task_id, partial(outcome_of, found[6]))
            await asyncio.sleep(self.interval)

    async def page(self, owner: str, cursor: str | None) -> tuple[list[TaskRecord], str | None]:
        """Return some of an owner's tasks; see `TaskStore.page`."""
        start = self._number(cursor)
        rows = await self._run(_PAGE, [self._order(owner)], start, self._page_size, self._tasks)
        shown = rows[: self._page_size]
        following = shown[-1][1].decode() if len(rows) > len(shown) else None
        records: list[TaskRecord] = []
        for task_id, _, found in shown:
            with suppress(UnknownTask):
                records.append(self._record(task_id.decode(), found))
        return records, following

    def forget(self, owner: str) -> None:
        """Delete all tasks of an owner; see `TaskStore.forget`."""
        work = asyncio.ensure_future(self._delete(owner))
        self._forgetting.add(work)
        work.add_done_callback(self._forgetting.discard)

    async def _delete(self, owner: str) -> None:
        with suppress(StoreUnavailable):  # the tasks expire
            await self._run(_FORGET, [self._order(owner)], self._tasks)

    async def renew(self, task_ids: Collection[str]) -> Mapping[str, Mapping[str, Any] | None]:
        """Renew the leases of tasks, and return what other processes received; see `SharedTaskStore.renew`."""
        ids: tuple[str, ...] = tuple(task_ids)
        is_due = self._is_due()
        keys = [self._tasks + task_id for task_id in ids]
        found: list[list[Any]] = await self._run(
            _RENEW, keys, self._holder, round(self._lease * 1000) if is_due else ""
        )
        self._renewed = sources.now() if is_due else self._renewed
        renewed: dict[str, Mapping[str, Any] | None] = {}
        for index, *rest in found:
            task_id = ids[int(index)]
            renewed[task_id] = await self._answers(task_id, rest) if rest else None
        return renewed

    async def _answers(self, task_id: str, fields: Sequence[bytes]) -> Mapping[str, Any]:
        """Return the answers in the fields of a task; one that cannot be read is deleted."""
        answers: dict[str, Any] = {}
        for name, text in zip(fields[::2], fields[1::2], strict=True):
            try:
                answers[name.decode()] = self._read(task_id, partial(json.loads, text))
            except UnknownTask:
                await self._run(_DROP, [self._tasks + task_id], b"answer:" + name)
        return answers

    async def answer(self, task_id: str, answers: Mapping[str, Any]) -> None:
        """Leave answers for the process that runs a task; see `SharedTaskStore.answer`."""
        fields = [text for key, answer in answers.items() for text in (f"answer:{key}", json.dumps(answer))]
        if fields:
            await self._run(_PUT, [self._tasks + task_id], *fields)

    async def record(self, task_id: str, work: Mapping[str, Any]) -> None:
        """Store what is needed to run a task again; see `SharedTaskStore.record`."""
        await self._run(_PUT, [self._tasks + task_id], "work", json.dumps(work))

    async def take(self, task_id: str) -> Mapping[str, Any] | None:
        """Take a task whose lease has lapsed; see `SharedTaskStore.take`."""
        found = await self._run(_TAKE, [self._tasks + task_id], self._holder, round(self._lease * 1000))
        work: Mapping[str, Any] | None = None if found is None else self._read(task_id, lambda: json.loads(found))
        return work

    async def _run(self, script: str, keys: Sequence[str], *values: str | float | bytes) -> Any:
        """Run a script.

        Raises:
            StoreUnavailable: Redis is unreachable, does not answer, or is full.
        """
        try:
            async with asyncio.timeout(TIMEOUT):
                found = await self._redis.eval(_COMMON + script, len(keys), *keys, *values)
        except Exception as error:
            if self._failed is None:
                log.error("tasks cannot be stored in Redis now: %s: %s", type(error).__name__, error)
            self._failed = sources.now()
            raise StoreUnavailable("the store of tasks cannot be reached; try again later") from error
        if self._failed is not None and sources.now() > self._failed + TIMEOUT:
            self._failed = None
            log.warning("tasks can be stored in Redis again")
        return found

    def _order(self, *parts: str) -> str:
        """Return the key of the order of an owner's tasks, or of those that it created as one peer."""
        return self._key("tasks", *(blake2b(part.encode(), digest_size=16).hexdigest() for part in parts))

    def _record(self, task_id: str, found: Sequence[Any] | None) -> TaskRecord:
        if found is None:
            raise unknown()
        return self._read(task_id, lambda: self._decoded(task_id, found))

    def _decoded(self, task_id: str, found: Sequence[Any]) -> TaskRecord:
        created, updated, ttl, status, message, questions, _, is_lapsed, scopes = found
        return TaskRecord(
            id=task_id,
            created_at=datetime.fromtimestamp(int(created) / 1000, UTC),
            updated_at=datetime.fromtimestamp(int(updated) / 1000, UTC),
            ttl=int(ttl) if ttl else None,
            poll_interval=self._poll_interval,
            status=Status(status.decode()),
            message=message.decode(),
            scopes=frozenset(scopes.decode().split()),
            questions=json.loads(questions),
            is_lapsed=bool(is_lapsed),
        )
