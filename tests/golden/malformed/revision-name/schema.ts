export const LATEST_PROTOCOL_VERSION = "../../../tmp/x";
export interface InitializeRequest { method: "initialize" }
export interface InitializeResult {}
