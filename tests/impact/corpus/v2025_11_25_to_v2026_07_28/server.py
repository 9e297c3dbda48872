"""A server of weather forecasts."""

from mcp_bindings.v2025_11_25 import (
    Annotations,
    CallToolRequestParams,
    CallToolResult,
    CancelledNotificationParams,
    Context,
    CreateTaskResult,  # impact: definition-removed, result-alternative-removed
    EmptyResult,
    Implementation,
    InitializeRequestParams,  # impact: definition-removed
    InitializeResult,  # impact: definition-removed
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ProgressNotificationParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    RequestParams,
    Resource,
    Server,
    ServerCapabilities,
    ServerCapabilitiesTools,
    SetLevelRequestParams,  # impact: definition-removed
    SubscribeRequestParams,  # impact: definition-removed
    Task,  # impact: definition-removed
    TextContent,
    TextResourceContents,
    Tool,
    ToolExecution,  # impact: definition-removed
    ToolInputSchema,
)

FORECAST = Tool(
    name="forecast",
    title="Forecast",
    input_schema=ToolInputSchema(
        properties={"city": {"type": "string"}},  # impact: property-constraint-dropped
        required=["city"],  # impact: property-constraint-dropped
    ),
    execution=ToolExecution(task_support="optional"),  # impact: property-removed-optional, definition-removed
)
CAPITALS: dict[str, str] = {"Norway": "Oslo"}


class Weather(Server):
    def __init__(self) -> None:
        self.level = "info"
        self.watched: set[str] = set()
        self.tools: list[Tool] = [FORECAST]
        self.last: CallToolResult | None = None

    def introduction(
        self,
        params: InitializeRequestParams,  # impact: definition-removed
    ) -> InitializeResult:  # impact: definition-removed
        return InitializeResult(  # impact: definition-removed
            protocol_version=params.protocol_version,
            capabilities=ServerCapabilities(tools=ServerCapabilitiesTools(list_changed=True)),
            server_info=Implementation(name="weather", version="1"),
        )

    async def ping(self, params: RequestParams | None, ctx: Context) -> EmptyResult:  # impact: request-method-removed
        return EmptyResult()

    async def set_level(  # impact: request-method-removed
        self,
        params: SetLevelRequestParams,  # impact: definition-removed
        ctx: Context,
    ) -> EmptyResult:
        self.level = params.level
        return EmptyResult()

    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        cursor = params.cursor if params else None
        if cursor:
            return ListToolsResult(tools=[])
        return ListToolsResult(tools=self.tools, next_cursor="end")

    async def list_resources(self, params: PaginatedRequestParams | None, ctx: Context) -> ListResourcesResult:
        resources = [Resource(name=country, uri=f"capital://{country}") for country in sorted(CAPITALS)]
        return ListResourcesResult(resources=resources)

    async def read_resource(self, params: ReadResourceRequestParams, ctx: Context) -> ReadResourceResult:
        country = params.uri.removeprefix("capital://")
        contents = TextResourceContents(uri=params.uri, text=CAPITALS[country])
        return ReadResourceResult(contents=[contents])

    async def subscribe(  # impact: request-method-removed
        self,
        params: SubscribeRequestParams,  # impact: definition-removed
        ctx: Context,
    ) -> EmptyResult:
        self.watched.add(params.uri)
        return EmptyResult()

    async def call_tool(
        self, params: CallToolRequestParams, ctx: Context
    ) -> CallToolResult | CreateTaskResult:  # impact: definition-removed, result-alternative-removed
        if params.task is not None:  # impact: property-removed-optional
            ttl = params.task.ttl  # impact: property-removed-optional
            task = Task(  # impact: definition-removed
                task_id="1", status="working", created_at="", last_updated_at="", ttl=ttl
            )
            return CreateTaskResult(task=task)  # impact: definition-removed, result-alternative-removed
        await ctx.client.notify_progress(progress_token=1, progress=0.5)
        text = await self.forecast(params)
        self.last = CallToolResult(
            content=[TextContent(text=text, annotations=Annotations(priority=1.0))],
            structured_content={"text": text},
        )
        return self.last

    async def forecast(self, params: CallToolRequestParams) -> str:
        city = (params.arguments or {}).get("city", "nowhere")
        return f"{params.name}: rain in {city}"

    async def on_cancelled(self, params: CancelledNotificationParams, ctx: Context) -> None:
        print("cancelled", params.request_id, params.reason)

    async def on_progress(  # impact: notification-method-removed
        self, params: ProgressNotificationParams, ctx: Context
    ) -> None:
        print("progress", params.progress, params.total)

    def summary(self) -> object:
        return self.last.structured_content if self.last else None  # impact: type-widened
