import { buildSendStep, buildTriggers, listPartitions } from './scenario-parts.ts'
import type { Scenario } from './scenario.ts'

const fourSteps: Scenario = {
  name: 'four steps',
  weight: 15,
  features: [],
  definition: {
    version: 1,
    triggers: buildTriggers('four'),
    settings: { reentry: 'parallel' },
    steps: [
      {
        id: 'check',
        type: 'branch',
        cases: [{ if: { left: '{{message.body}}', op: 'contains', right: 'o' }, next: 'tag' }],
        else: 'end',
      },
      { id: 'tag', type: 'add_tag', tags: ['seen'] },
      { id: 'store', type: 'set', values: { last: '{{message.body}}' } },
      buildSendStep('reply', 'Got {{message.body}}'),
    ],
  },
  messages: ['four a', 'four b', 'four c', 'four d'],
  isConcurrent: true,
  allowedReplies: (inbound) => [inbound.map((body) => `Got ${body}`)],
  allowedRunCounts: (inbound) => [inbound.length],
}

const question: Scenario = {
  name: 'question and reply',
  weight: 20,
  features: [],
  definition: {
    version: 1,
    triggers: buildTriggers('ask'),
    steps: [
      { id: 'color', type: 'ask', message: { body: 'Which color?' }, saveAs: 'vars.color' },
      buildSendStep('confirm', 'You chose {{vars.color}}'),
    ],
  },
  messages: ['ask me', 'red', 'ask again', 'blue'],
  allowedReplies: () => [['Which color?', 'You chose red', 'Which color?', 'You chose blue']],
  allowedRunCounts: () => [2],
}

const shortWait: Scenario = {
  name: 'short wait',
  weight: 10,
  features: ['timers'],
  definition: {
    version: 1,
    triggers: buildTriggers('wait'),
    settings: { reentry: 'parallel' },
    steps: [
      buildSendStep('before', 'Before the wait'),
      { id: 'wait', type: 'wait', for: '2s' },
      buildSendStep('after', 'After the wait'),
    ],
  },
  messages: ['wait please'],
  allowedReplies: () => [['Before the wait', 'After the wait']],
  allowedRunCounts: () => [1],
}

/** The customer replies at about the time at which the question times out, so either branch is allowed. */
const replyAtTimeout: Scenario = {
  name: 'reply at the timeout',
  weight: 10,
  features: ['timers'],
  definition: {
    version: 1,
    triggers: buildTriggers('timeout'),
    steps: [
      {
        id: 'question',
        type: 'ask',
        message: { body: 'Reply within two seconds' },
        timeout: '2s',
        onTimeout: 'late',
        saveAs: 'vars.reply',
      },
      buildSendStep('in_time', 'In time: {{vars.reply}}', { next: 'end' }),
      buildSendStep('late', 'Too late'),
    ],
  },
  messages: ['timeout test', 'here'],
  delayMs: 2000,
  allowedReplies: () => [
    ['Reply within two seconds', 'In time: here'],
    ['Reply within two seconds', 'Too late'],
  ],
  allowedRunCounts: () => [1],
}

export const NO_REPLY: Scenario = {
  name: 'no reply',
  weight: 5,
  features: [],
  definition: {
    version: 1,
    triggers: buildTriggers('silent'),
    steps: [
      { id: 'question', type: 'ask', message: { body: 'Are you there?' } },
      buildSendStep('confirm', 'Thank you'),
    ],
  },
  messages: ['silent customer'],
  allowedReplies: () => [['Are you there?']],
  allowedRunCounts: () => [1],
  waitingRuns: 1,
}

/** Calls a server that fails the first attempt; every attempt must carry the same idempotency key. */
const externalCall: Scenario = {
  name: 'external call with retries',
  weight: 10,
  features: ['external_calls'],
  definition: ({ orderServerUrl }) => ({
    version: 1,
    triggers: buildTriggers('order'),
    variables: { server: { type: 'string', default: orderServerUrl }, order: { type: 'object' } },
    steps: [
      {
        id: 'call',
        type: 'http',
        method: 'POST',
        url: '{{vars.server}}/orders',
        json: { phone: '{{contact.phone}}' },
        retry: { max: 10, backoff: 'fixed', delay: '1s' },
        saveAs: 'vars.order',
      },
      buildSendStep('confirm', 'Ordered for {{contact.phone}}'),
    ],
  }),
  messages: ['order please'],
  allowedReplies: (_, phone) => [[`Ordered for ${phone}`]],
  allowedRunCounts: () => [1],
}

const loop: Scenario = {
  name: 'loop with waits',
  weight: 5,
  features: ['timers'],
  definition: {
    version: 1,
    triggers: buildTriggers('list'),
    variables: { items: { type: 'list', default: ['tea', 'milk', 'bread'] } },
    steps: [
      {
        id: 'each',
        type: 'loop',
        over: '{{vars.items}}',
        max: 10,
        steps: [buildSendStep('item', '{{loop.number}}. {{item}}'), { id: 'wait', type: 'wait', for: '1s' }],
      },
      buildSendStep('end_of_list', 'End of the list'),
    ],
  },
  messages: ['list them'],
  allowedReplies: () => [['1. tea', '2. milk', '3. bread', 'End of the list']],
  allowedRunCounts: () => [1],
}

/** The parent run waits for a child run, which waits for the customer. */
const childWorkflow: Scenario = {
  name: 'child workflow',
  weight: 5,
  features: [],
  definition: ({ childWorkflowId }) => ({
    version: 1,
    triggers: buildTriggers('child'),
    steps: [
      { id: 'child', type: 'run_workflow', workflowId: childWorkflowId, input: { product: 'apples' } },
      buildSendStep('confirm', 'Thank you'),
    ],
  }),
  messages: ['child workflow', 'seven'],
  allowedReplies: () => [['How many apples?', 'Thank you']],
  allowedRunCounts: () => [1],
}

/** Messages that arrive within the debounce interval are merged; how many do depends on timing. */
const debouncedBurst: Scenario = {
  name: 'debounced burst',
  weight: 10,
  features: ['timers'],
  definition: {
    version: 1,
    triggers: buildTriggers('burst'),
    settings: { debounce: '1s' },
    steps: [buildSendStep('reply', 'Read {{message.body}}')],
  },
  messages: ['burst a', 'burst b', 'burst c'],
  isConcurrent: true,
  allowedReplies: (inbound) =>
    listPartitions(inbound).map((groups) => groups.map((group) => `Read ${group.join('\n')}`)),
  allowedRunCounts: (inbound) => inbound.map((_, index) => index + 1),
}

/** Each message is sent after the previous one was acknowledged, often by another HTTP process. */
const quickSequence: Scenario = {
  name: 'quick sequence',
  weight: 10,
  features: [],
  definition: {
    version: 1,
    triggers: buildTriggers('quick'),
    settings: { reentry: 'parallel' },
    steps: [buildSendStep('reply', 'Read {{message.body}}')],
  },
  messages: ['quick 1', 'quick 2', 'quick 3', 'quick 4'],
  isSequence: true,
  allowedReplies: () => [['Read quick 1', 'Read quick 2', 'Read quick 3', 'Read quick 4']],
  allowedRunCounts: () => [4],
}

/** The shortest conversation, which shows that the system works; no customer is given it at random. */
export const RECOVERY_PROBE: Scenario = {
  name: 'recovery probe',
  weight: 0,
  features: [],
  definition: {
    version: 1,
    triggers: buildTriggers('probe'),
    steps: [buildSendStep('reply', 'Still here')],
  },
  messages: ['probe'],
  allowedReplies: () => [['Still here']],
  allowedRunCounts: () => [1],
}

export const SCENARIOS: Scenario[] = [
  fourSteps,
  question,
  shortWait,
  replyAtTimeout,
  NO_REPLY,
  externalCall,
  loop,
  childWorkflow,
  debouncedBurst,
  quickSequence,
  RECOVERY_PROBE,
]
