/** Definition of the child workflow that the `childWorkflow` scenario runs. */
export const CHILD_DEFINITION = {
  version: 1,
  triggers: [],
  steps: [
    { id: 'question', type: 'ask', message: { body: 'How many {{input.product}}?' } },
    { id: 'stop', type: 'stop' },
  ],
}

/** Lists all partitions of a list into consecutive groups. */
export function listPartitions(list: string[]): string[][][] {
  const [first, ...rest] = list
  if (first === undefined) return [[]]
  return listPartitions(rest).flatMap((groups) => {
    const [next, ...others] = groups
    return [[[first], ...groups], ...(next ? [[[first, ...next], ...others]] : [])]
  })
}

export function buildTriggers(prefix: string) {
  return [{ type: 'message_received', match: { mode: 'starts_with', values: [prefix] } }]
}

export function buildSendStep(id: string, body: string, rest: object = {}) {
  return { id, type: 'send_message', message: { body }, ...rest }
}
