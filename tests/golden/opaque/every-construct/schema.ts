export const LATEST_PROTOCOL_VERSION = "2099-01-01";
export { Tool as Werkzeug };
declare type D = string;
export declare const E: "e";
export const FOO = "foo.bar";
export interface Tool { name: string; inner: { x: number; y?: string }; when: Date; kind: typeof E; color: Color }
export interface Page<T, U = string> { items: T[]; next?: U; parent?: Page<T> }
export interface ListResult<T extends object> extends Page<T> { total: number }
export interface Tools extends ListResult<Tool>, Pick<Tool, "name"> { m(): void; readonly [k: string]: unknown; [FOO]: string; y?: never; z: string | undefined; q: Page<Tool, number> }
export type M1 = { readonly [K in keyof Tool]-?: Tool[K] };
type M2 = { [K in "a" | "b"]?: K };
type T1 = [a: string, b?: number]; type T1b = [string, number];
type T2 = `x-${string}`;
type T3 = Tool extends M2 ? 1 : 2;
type T4 = Tool["inner"]["x"]; type T5 = T1b[number];
type T6 = keyof Tool;
type T8 = null | undefined; type T8b = bigint; type T8c = "a" | (string & {});
type T9 = (a: string) => void; type T12 = import("./x").Y;
enum Color { Red = "red", Green = "green" }
declare enum DE { X = 1, Y }
type P1 = Partial<Tool>; type P2 = Required<Omit<Tool, "when">>; type P3 = Omit<Tool, "inner">; type P4 = Pick<Tool, "name" | "inner">; type P5 = Readonly<Tool>; type P6 = Partial<Record<"a" | "b", number>>; type P7 = Record<T6, boolean>; type P8 = Record<string | "x", string>; type P9 = NonNullable<string | null>; type P10 = Exclude<"a" | "b" | "c", "a">; type P11 = Record<number, string>; type P12 = Awaited<Promise<string>>; type P13 = Extract<"a" | 1, string>;
type I1 = Tool & ( { kind2: "a"; a: string } | { kind2: "b"; b: string } ); type I2 = number & { readonly minimum: 0 }; type I3 = string & { __brand: "id" };
type Idx = { [k: number]: string }; type Idx2 = { [k: `x-${string}`]: string; a: string };
export default interface Def extends Partial<Tool> { a: string }
interface Rec { x: Rec["x"]; y: Rec2["y"] } interface Rec2 { y: Rec["y"] }
export interface InitializeRequest { method: "initialize"; params: InitializeRequestParams; }
export interface InitializeRequestParams { protocolVersion: string; }
export interface InitializeResult { protocolVersion: string; }
export type ClientRequest = InitializeRequest;
interface Merged { a: string } interface Merged { b?: number; a: string }
type Endless<T> = { value: T; next: Endless<T[]> };
