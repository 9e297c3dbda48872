export const LATEST_PROTOCOL_VERSION = "2099-01-01";
export interface InitializeRequest { method: "initialize" }
export interface HelloRequest { method: "initialize" }
export interface GoodbyeRequest { method: "goodbye"; params: string }
export interface InitializeResult {}
export type ClientRequest = InitializeRequest | HelloRequest | GoodbyeRequest;
