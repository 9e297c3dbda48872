export interface A {
  a: string
export enum E { x }
export type B = Missing;
