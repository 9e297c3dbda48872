import { z } from "zod";
export const schema = z.object({});
export type Partial2 = { [K in keyof A]?: A[K] };
export interface A { run(): void; [index: number]: string }
export type B = Missing;
