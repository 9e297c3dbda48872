export const LATEST_PROTOCOL_VERSION = "2099-01-01";
export interface InitializeRequest { method: "initialize" }
export interface HelloRequest { method: "initialize" }
export interface GoodbyeRequest { method: "goodbye"; params: string }
export interface Event { method: "events/one" }
export interface PingRequest { method: "ping"; params: { a: string } | { b: string } }
export interface PingResult {}
export interface InitializeResult {}
export type ClientRequest = InitializeRequest | GoodbyeRequest;
