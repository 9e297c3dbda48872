export const LATEST_PROTOCOL_VERSION = "2099-01-01";
export interface A extends B { a: string }
export interface B extends A { b: string }
export type C = C | string;
export interface Fine { fine?: Fine }
