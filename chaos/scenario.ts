/** References that a workspace passes to its workflow definitions. */
export type DefinitionContext = { orderServerUrl: string; childWorkflowId: string }

/** A workflow, the messages that a customer sends to it, and the outcomes that are allowed. */
export type Scenario = {
  name: string
  /** Percentage of the customers that follow this scenario. */
  weight: number
  definition: object | ((context: DefinitionContext) => object)
  messages: string[]
  /** Engine features that only some scenarios use; selects customers whose runs reach a failpoint. */
  features: ('timers' | 'external_calls')[]
  /** Sends all messages at once, so that they arrive in any order. */
  isConcurrent?: boolean
  /** Sends each message as soon as the previous one is acknowledged, without waiting for a reply. */
  isSequence?: boolean
  /** Delay before each message but the first. If unset, the customer waits a limited time for a reply instead. */
  delayMs?: number
  /** Lists the allowed sequences of replies to the inbound messages, which are passed in the order they were stored. */
  allowedReplies(inbound: string[], phone: string): string[][]
  /** Lists the allowed numbers of runs, child runs excluded. */
  allowedRunCounts(inbound: string[]): number[]
  /** Number of these runs that still wait at the end; 0 if unset. */
  waitingRuns?: number
}
