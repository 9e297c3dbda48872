export interface InitializeRequest { method: "initialize"; params: InitializeRequestParams; }
export interface InitializeRequestParams { protocolVersion: string; }
export interface InitializeResult { protocolVersion: string; }
export type ClientRequest = InitializeRequest | ListMoonsRequest;

/** The name of this edition. */
export const LATEST_PROTOCOL_VERSION = "2099-01-01";
/** The moon is not there. */
export const MOON_MISSING = -32099;

/** What every answer has. */
export interface Result {
  _meta?: { [key: string]: unknown };
}

/** An answer in pages. */
export interface PaginatedResult extends Result {
  nextCursor?: string;
}

export interface PaginatedRequestParams {
  cursor?: string;
  all?: boolean;
}

/** Asks for moons. */
export interface ListMoonsRequest {
  method: "moons/list";
  params?: PaginatedRequestParams;
}

export interface ListMoonsResult extends PaginatedResult {
  moons: Moon[];
}

/** A moon that narrows what it extends. */
export interface Thing {
  kind: string;
  name?: string;
}

export interface Moon extends Thing {
  kind: "moon";
  /** How it looks; others are possible. */
  phase?: "new" | "full" | string;
  /** @deprecated Nobody measures it. */
  weight?: number;
}

export interface MoonRoseNotification {
  method: "notifications/moons/rose";
  params: MoonRoseNotificationParams;
}

export interface MoonRoseNotificationParams {
  at: number;
}

export type ServerNotification = MoonRoseNotification;
