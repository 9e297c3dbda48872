export const LATEST_PROTOCOL_VERSION = "2099-01-01";
export type A = Missing;
