/** Result of checking one invariant: the number of objects checked, and a description of each violation. */
export type InvariantResult = { name: string; checked: number; violations: string[] }
