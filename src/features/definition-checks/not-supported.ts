import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { type RawPart, listSteps, listTriggers, valuesAt, asDocument } from '../workflows/stored-definition.ts'

/**
 * What the language knows and nothing acts on yet, each with what to do instead. An entry goes when its substance has
 * come.
 */
const TRIGGERS: Record<string, string> = {
  broadcast_replied: 'use message_received',
  message_status: 'use message_received, or a wait with a branch',
}

const STEPS: Record<string, string> = {
  send_template: 'use send_message, which is sent within 24 hours after the customer wrote',
  throttle: 'use a branch on a variable or a tag that the workflow sets',
}

type Field = {
  at: string
  isMissing?: (value: unknown) => boolean
  what?: string
  instead: string
  /** What is lacking only because this stands in its place. */
  insteadOf?: string
}

const OF_THE_WHOLE: Field[] = [
  { at: 'inputs', instead: 'branch on {{input}} in the first step' },
  { at: 'settings.quietHours', instead: 'use a branch on {{now}}, or a wait until a time of day' },
  { at: 'settings.onFailure', instead: 'use the onError of the steps that may fail' },
]

const MESSAGES = ['message', 'invalidMessage']

const OF_STEPS: Field[] = [
  ...MESSAGES.flatMap((message): Field[] => [
    { at: `${message}.list`, instead: 'use up to 3 buttons, or an ask with expect.options' },
    {
      at: `${message}.location`,
      instead: 'send the address as text, or a link to a map',
      insteadOf: `${message}.body`,
    },
    { at: `${message}.footer`, instead: 'write it at the end of the body' },
    {
      at: `${message}.template`,
      instead: 'use a body, which is sent within 24 hours after the customer wrote',
      insteadOf: `${message}.body`,
    },
    {
      at: `${message}.media.mediaId`,
      instead: 'use a url that the channel can fetch',
      insteadOf: `${message}.media.url`,
    },
    { at: `${message}.media.type`, isMissing: (value) => value === 'sticker', what: 'sticker', instead: 'use image' },
    { at: `${message}.buttons.*.description`, instead: 'say it in the body' },
  ]),
  { at: 'invalidMessage.buttons', instead: 'leave them out, the choices of the question are shown again' },
  { at: 'ifWindowClosed', isMissing: isTemplate, what: 'a template', instead: 'use fail or skip' },
  { at: 'expect.options.*.description', instead: 'say it in the body' },
  {
    at: 'expect.type',
    isMissing: (value) => value === 'location' || value === 'media',
    what: 'location or media',
    instead: 'use any, and read {{message.content}}',
  },
]

/** `within`: what stands there needs no other complaint. */
export type Unsupported = Problem & { within: string[] }

/** Everything in a definition, of any form, that is of the language and that nothing acts on. */
export function findUnsupported(definition: unknown): Unsupported[] {
  return [
    ...listTriggers(definition).flatMap((trigger) => typeIn(trigger, TRIGGERS)),
    ...fieldsIn(asDocument(definition), OF_THE_WHOLE),
    ...listSteps(definition).flatMap((step) => [...typeIn(step, STEPS), ...fieldsIn(step, OF_STEPS)]),
  ]
}

function typeIn({ fields: { type }, place }: RawPart, missing: Record<string, string>): Unsupported[] {
  const instead = typeof type === 'string' && Object.hasOwn(missing, type) ? missing[type] : undefined
  if (instead === undefined) return []
  const problem = problemAt(place, 'type', 'not_supported', `${JSON.stringify(type)} is not supported yet: ${instead}`)
  return [{ ...problem, within: [place.path] }]
}

function fieldsIn(part: RawPart, missing: Field[]): Unsupported[] {
  return missing.flatMap(({ at, isMissing = () => true, what, instead, insteadOf }) =>
    valuesAt(part, at)
      .filter(({ value }) => isMissing(value))
      .map(({ path }) => {
        const named = what === undefined ? '' : `as ${what} `
        const problem = problemAt(part.place, path, 'not_supported', `${named}is not supported yet: ${instead}`)
        return { ...problem, within: [problem.path, ...(insteadOf ? [`${part.place.path}.${insteadOf}`] : [])] }
      }),
  )
}

function isTemplate(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'template' in value
}
