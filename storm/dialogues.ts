import type { Dialogue } from './dialogue.ts'
import { bursts, items, nested, outside } from './longer-dialogues.ts'
import { say, startsWith } from './steps.ts'

const fourSteps: Dialogue = {
  name: 'four steps',
  share: 25,
  features: [],
  definition: {
    version: 1,
    triggers: startsWith('four'),
    settings: { reentry: 'parallel' },
    steps: [
      {
        id: 'which',
        type: 'branch',
        cases: [{ if: { left: '{{message.body}}', op: 'contains', right: 'o' }, next: 'tag' }],
        else: 'end',
      },
      { id: 'tag', type: 'add_tag', tags: ['seen'] },
      { id: 'keep', type: 'set', values: { last: '{{message.body}}' } },
      say('answer', 'Got {{message.body}}'),
    ],
  },
  lines: ['four a', 'four b', 'four c', 'four d'],
  isHasty: true,
  answers: (inbound) => [inbound.map((body) => `Got ${body}`)],
  runs: (inbound) => [inbound.length],
}

const question: Dialogue = {
  name: 'question and answer',
  share: 20,
  features: [],
  definition: {
    version: 1,
    triggers: startsWith('ask'),
    steps: [
      { id: 'colour', type: 'ask', message: { body: 'Which colour?' }, saveAs: 'vars.colour' },
      say('thanks', 'So it is {{vars.colour}}'),
    ],
  },
  lines: ['ask me', 'red', 'ask again', 'blue'],
  answers: () => [['Which colour?', 'So it is red', 'Which colour?', 'So it is blue']],
  runs: () => [2],
}

const nap: Dialogue = {
  name: 'short wait',
  share: 10,
  features: ['waits'],
  definition: {
    version: 1,
    triggers: startsWith('nap'),
    settings: { reentry: 'parallel' },
    steps: [say('before', 'Good night'), { id: 'nap', type: 'wait', for: '2s' }, say('after', 'Good morning')],
  },
  lines: ['nap please'],
  answers: () => [['Good night', 'Good morning']],
  runs: () => [1],
}

const deadline: Dialogue = {
  name: 'answer at the deadline',
  share: 10,
  features: ['waits'],
  definition: {
    version: 1,
    triggers: startsWith('quick'),
    steps: [
      {
        id: 'hurry',
        type: 'ask',
        message: { body: 'Quick!' },
        timeout: '2s',
        onTimeout: 'late',
        saveAs: 'vars.said',
      },
      say('good', 'In time: {{vars.said}}', { next: 'end' }),
      say('late', 'Too late'),
    ],
  },
  lines: ['quick one', 'here'],
  pauseMs: 2000,
  answers: () => [
    ['Quick!', 'In time: here'],
    ['Quick!', 'Too late'],
  ],
  runs: () => [1],
}

const silence: Dialogue = {
  name: 'no answer',
  share: 5,
  features: [],
  definition: {
    version: 1,
    triggers: startsWith('hush'),
    steps: [{ id: 'hush', type: 'ask', message: { body: 'Are you there?' } }, say('good', 'Good')],
  },
  lines: ['hush now'],
  answers: () => [['Are you there?']],
  runs: () => [1],
  waiting: 1,
}

export const DIALOGUES: Dialogue[] = [fourSteps, question, nap, deadline, silence, outside, items, nested, bursts]
