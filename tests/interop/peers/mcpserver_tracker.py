"""The server of examples/tracker_server.py, written for MCPServer of mcp 2.3.0."""

import argparse
from typing import Annotated, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import SamplingMessage, TextContent
from pydantic import BaseModel, Field

State = Literal["open", "closed"]


class Issue(BaseModel):
    number: int
    title: str
    state: State = "open"
    labels: list[str] = []


class Closing(BaseModel):
    reason: str = Field(description="Why the issue can be closed.")


mcp = MCPServer("tracker", version="1.0", instructions="Search before you open a new issue.")
issues = {1: Issue(number=1, title="Crash at start", labels=["bug"]), 2: Issue(number=2, title="Dark mode")}


def find(number: int) -> Issue:
    if number not in issues:
        raise ToolError(f"there is no issue {number}; search finds the numbers")
    return issues[number]


@mcp.tool()
def search(text: str = "", state: State | None = None, limit: Annotated[int, Field(ge=1, le=50)] = 10) -> list[Issue]:
    """Find issues by words in their title."""
    found = [issue for issue in issues.values() if text.lower() in issue.title.lower()]
    return [issue for issue in found if state in (None, issue.state)][:limit]


@mcp.tool(title="Open an issue")
def open_issue(title: str, labels: list[str] | None = None) -> Issue:
    """Open a new issue."""
    number = max(issues) + 1
    issues[number] = Issue(number=number, title=title, labels=labels or [])
    return issues[number]


@mcp.tool()
async def close_issue(number: int, ctx: Context) -> Issue:
    """Close an issue, once the user has given a reason."""
    issue = find(number)
    answer = await ctx.elicit(f"Why can {issue.title!r} be closed?", Closing)
    if answer.action != "accept":
        raise ToolError("the user does not want to close it")
    await ctx.info(f"closed {number}: {answer.data.reason}")
    issue.state = "closed"
    return issue


@mcp.tool()
async def summarize(number: int, ctx: Context) -> str:
    """Let the model of the client summarize an issue."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=f"Summarize: {find(number).title}"))
    answer = await ctx.session.create_message(messages=[message], max_tokens=100)
    return answer.content.text if isinstance(answer.content, TextContent) else "no summary"


@mcp.tool()
async def reindex(ctx: Context) -> int:
    """Index all issues again."""
    for done, number in enumerate(issues, 1):
        await ctx.report_progress(done, len(issues), f"issue {number}")
    return len(issues)


@mcp.resource("tracker://issues", mime_type="application/json")
def all_issues() -> list[Issue]:
    """All issues."""
    return list(issues.values())


@mcp.resource("tracker://labels", mime_type="application/json")
def labels() -> list[str]:
    """The labels that are in use."""
    return sorted({label for issue in issues.values() for label in issue.labels})


@mcp.resource("tracker://issues/{number}", mime_type="application/json")
def one_issue(number: int) -> Issue:
    """One issue."""
    return find(number)


@mcp.prompt()
def triage(number: int, tone: Literal["short", "friendly"] = "short") -> str:
    """Ask for the next step on an issue."""
    return f"What is the next step on {find(number).title!r}? Be {tone}."


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    mcp.run()
