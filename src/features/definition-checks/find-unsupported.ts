import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { type DefinitionPart, listSteps, listTriggers, findValues, toRootPart } from '../workflows/stored-definition.ts'

/**
 * Triggers and fields that the language defines and that are not implemented yet, each with an alternative. An
 * entry is removed when it is implemented.
 */
const TRIGGERS: Record<string, string> = {
  message_status: 'use message_received, or a wait with a branch',
}

type Field = {
  at: string
  isUnsupported?: (value: unknown) => boolean
  name?: string
  instead: string
}

const ROOT_FIELDS: Field[] = [
  { at: 'inputs', instead: 'branch on {{input}} in the first step' },
  { at: 'settings.quietHours', instead: 'use a branch on {{now}}, or a wait until a time of day' },
  { at: 'settings.onFailure', instead: 'use onError on the steps that may fail' },
]

const MESSAGES = ['message', 'invalidMessage']

const STEP_FIELDS: Field[] = [
  ...MESSAGES.flatMap((message): Field[] => [
    { at: `${message}.footer`, instead: 'put it at the end of the body' },
    {
      at: `${message}.media.type`,
      isUnsupported: (value) => value === 'sticker',
      name: 'sticker',
      instead: 'use the field sticker of a send_message',
    },
    { at: `${message}.buttons.*.description`, instead: 'use the field list of a send_message' },
  ]),
  { at: 'invalidMessage.buttons', instead: 'omit them, the choices of the question are sent again' },
  { at: 'expect.options.*.description', instead: 'describe it in the body' },
  {
    at: 'expect.type',
    isUnsupported: (value) => value === 'location' || value === 'media',
    name: 'location or media',
    instead: 'use any, and read {{message.content}}',
  },
]

/** Errors at the paths in `within` need not be reported separately. */
export type Unsupported = Problem & { within: string[] }

/** Finds everything in a definition, valid or not, that belongs to the language and is not implemented. */
export function findUnsupported(definition: unknown): Unsupported[] {
  return [
    ...listTriggers(definition).flatMap((trigger) => checkType(trigger, TRIGGERS)),
    ...checkFields(toRootPart(definition), ROOT_FIELDS),
    ...listSteps(definition).flatMap((step) => checkFields(step, STEP_FIELDS)),
  ]
}

function checkType({ fields: { type }, location }: DefinitionPart, table: Record<string, string>): Unsupported[] {
  const instead = typeof type === 'string' && Object.hasOwn(table, type) ? table[type] : undefined
  if (instead === undefined) return []
  const problem = problemAt(
    location,
    'type',
    'not_supported',
    `${JSON.stringify(type)} is not supported yet: ${instead}`,
  )
  return [{ ...problem, within: [location.path] }]
}

function checkFields(part: DefinitionPart, table: Field[]): Unsupported[] {
  return table.flatMap(({ at, isUnsupported = () => true, name, instead }) =>
    findValues(part, at)
      .filter(({ value }) => isUnsupported(value))
      .map(({ path }) => {
        const qualifier = name === undefined ? '' : `as ${name} `
        const problem = problemAt(part.location, path, 'not_supported', `${qualifier}is not supported yet: ${instead}`)
        return { ...problem, within: [problem.path] }
      }),
  )
}
