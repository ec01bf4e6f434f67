/** What the workflows of a workspace refer to. */
export type Surroundings = { shopUrl: string; innerId: string }

/** A kind of conversation: the workflow that leads it, what the customer writes, and what must have been answered. */
export type Dialogue = {
  name: string
  /** How many of a hundred customers have this one. */
  share: number
  definition: object | ((surroundings: Surroundings) => object)
  lines: string[]
  /** What only some conversations do: wait for a time, or call outside. */
  features: ('waits' | 'effects')[]
  /** The customer writes everything at once, in whatever order it arrives. */
  isHasty?: boolean
  /** How long before each line but the first; else the customer waits for an answer, with little patience. */
  pauseMs?: number
  /** What may have been answered to these messages, which stand in the order in which they were stored. */
  answers(inbound: string[], phone: string): string[][]
  /** How many runs that may have taken, without those that runs started. */
  runs(inbound: string[]): number[]
  /** Of these, so many still wait. */
  waiting?: number
}
