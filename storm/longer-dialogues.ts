import type { Dialogue } from './dialogue.ts'
import { say, startsWith } from './steps.ts'

/** A call to a shop that fails at first and must not be told of one order twice under two keys. */
export const outside: Dialogue = {
  name: 'order in a shop, tried again',
  share: 10,
  features: ['effects'],
  definition: ({ shopUrl }) => ({
    version: 1,
    triggers: startsWith('order'),
    variables: { shop: { type: 'string', default: shopUrl }, order: { type: 'object' } },
    steps: [
      {
        id: 'call',
        type: 'http',
        method: 'POST',
        url: '{{vars.shop}}/orders',
        json: { phone: '{{contact.phone}}' },
        retry: { max: 10, backoff: 'fixed', delay: '1s' },
        saveAs: 'vars.order',
      },
      say('done', 'Ordered for {{contact.phone}}'),
    ],
  }),
  lines: ['order please'],
  answers: (_, phone) => [[`Ordered for ${phone}`]],
  runs: () => [1],
}

/** A loop that says something and sleeps in each round. */
export const items: Dialogue = {
  name: 'loop with waits',
  share: 5,
  features: ['waits'],
  definition: {
    version: 1,
    triggers: startsWith('list'),
    variables: { items: { type: 'list', default: ['tea', 'milk', 'bread'] } },
    steps: [
      {
        id: 'each',
        type: 'loop',
        over: '{{vars.items}}',
        max: 10,
        steps: [say('one', '{{loop.number}}. {{item}}'), { id: 'pause', type: 'wait', for: '1s' }],
      },
      say('done', 'That is all'),
    ],
  },
  lines: ['list them'],
  answers: () => [['1. tea', '2. milk', '3. bread', 'That is all']],
  runs: () => [1],
}

/** What `nested` runs within. */
export const INNER = {
  version: 1,
  triggers: [],
  steps: [
    { id: 'ask', type: 'ask', message: { body: 'How many {{input.what}}?' } },
    { id: 'over', type: 'stop' },
  ],
}

/** A run that waits for another, which waits for the customer. */
export const nested: Dialogue = {
  name: 'workflow within a workflow',
  share: 5,
  features: [],
  definition: ({ innerId }) => ({
    version: 1,
    triggers: startsWith('inner'),
    steps: [
      { id: 'sub', type: 'run_workflow', workflowId: innerId, input: { what: 'apples' } },
      say('after', 'Thank you'),
    ],
  }),
  lines: ['inner one', 'seven'],
  answers: () => [['How many apples?', 'Thank you']],
  runs: () => [1],
}

/** A customer who writes in bursts, which are read as one as far as they came together. */
export const bursts: Dialogue = {
  name: 'burst',
  share: 10,
  features: ['waits'],
  definition: {
    version: 1,
    triggers: startsWith('much'),
    settings: { debounce: '1s' },
    steps: [say('read', 'Read {{message.body}}')],
  },
  lines: ['much a', 'much b', 'much c'],
  isHasty: true,
  answers: (inbound) => partitions(inbound).map((groups) => groups.map((group) => `Read ${group.join('\n')}`)),
  runs: (inbound) => inbound.map((_, index) => index + 1),
}

/** Every way to cut a list into pieces. */
function partitions(list: string[]): string[][][] {
  const [first, ...rest] = list
  if (first === undefined) return [[]]
  return partitions(rest).flatMap((groups) => {
    const [next, ...others] = groups
    return [[[first], ...groups], ...(next ? [[[first, ...next], ...others]] : [])]
  })
}
