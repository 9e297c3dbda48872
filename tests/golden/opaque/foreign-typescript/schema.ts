import { z } from "zod";
import type { Foreign, Other as Another } from "./other";
export { InitializeResult as Answer };
export * from "./more";
export const LATEST_PROTOCOL_VERSION = "2099-01-01";
export const schema = z.object({});
export const SUM = 1 + 2;
export function isAnswer(value: unknown): value is Answer { return true; }
export class Helper { run(): void {} }
export namespace Inner { export interface X { a: string } }
declare module "elsewhere" { interface Y { a: string } }
export interface A extends Foreign { run(): void; (): string; b: Another; c: Helper; d: Inner.X; e: typeof schema }
export interface InitializeRequest { method: "initialize"; params: InitializeRequestParams }
export interface InitializeRequestParams { protocolVersion: string }
export interface InitializeResult { protocolVersion: string }
export type ClientRequest = InitializeRequest;
