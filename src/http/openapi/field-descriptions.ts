import { AUTOMATION } from './descriptions/automation.ts'
import { BROADCASTS } from './descriptions/broadcasts.ts'
import { COMPONENTS, type FieldTexts } from './descriptions/components.ts'
import { MESSAGING } from './descriptions/messaging.ts'
import { WORKSPACE } from './descriptions/workspace.ts'

/** Fields that mean the same wherever they occur. */
const COMMON: Record<string, string> = {
  createdAt: 'Time of creation',
  updatedAt: 'Time of the last change',
  items: 'The items of this page; all of them if the list has no pages',
  counts: 'Numbers by status',
  durationMs: 'Duration in milliseconds',
}

const RESULT = { status: 'Outcome of the item' }

const ERROR = {
  name: 'Name of the class of the error',
  code: 'Stable code of the error',
  message: 'The error in words, and what to change',
  stepId: 'ID of the step that failed; null if none did',
  providerCode: 'Code of the provider; null if it has none',
  retryable: 'True if a new attempt may succeed',
}

const SHARED: FieldTexts = {
  error: ERROR,
  runError: ERROR,
  count: {
    total: 'Number in all',
    created: 'Number of created ones',
    updated: 'Number of changed ones',
    unchanged: 'Number of those without a change',
    failed: 'Number of failed ones',
    queued: 'Number of those that are sent as soon as possible',
    scheduled: 'Number of those that are sent later',
    started: 'Number of started ones',
  },
  bulkContactResult: RESULT,
  bulkMessageResult: RESULT,
  bulkStartResult: RESULT,
}

const TEXTS: FieldTexts = { ...MESSAGING, ...BROADCASTS, ...AUTOMATION, ...WORKSPACE, ...SHARED }

/** Names that mark a form of a resource, whose fields are the same. */
const FORMS = /^(?:Published|Checked|Upserted|Imported|Simulated|Full|Own)(?=[A-Z])|With[A-Z]\w*$|Summary$/g

/**
 * Returns the description of a field that has none of its own, from the texts of its owner or the common ones. An ID is that
 * of what it names: `ID of the contact` for `contactId`.
 */
export function describeField(name: string, owner: string): string | undefined {
  const resource = owner.replaceAll(FORMS, '')
  const texts = TEXTS[toKey(resource)] ?? {}
  if (Object.hasOwn(texts, name)) return texts[name]
  if (Object.hasOwn(COMMON, name)) return COMMON[name]
  if (name === 'id') return `ID of the ${toWords(resource)}`
  const [, noun, plural] = /^(.+)Id(s?)$/.exec(name) ?? []
  return noun === undefined ? undefined : `ID${plural} of the ${toWords(noun)}${plural}`
}

export function describeComponent(name: string): string | undefined {
  const [, kind, type] = /^(step|trigger)_(\w+)$/.exec(name) ?? []
  return kind === undefined ? COMPONENTS[name] : `The ${kind} \`${type}\` of a definition`
}

/** Returns the words for several of a resource: `webhook deliveries` for `WebhookDelivery`. */
export function toPlural(resource: string): string {
  const words = toWords(resource.replaceAll(FORMS, ''))
  return words.endsWith('y') && !words.endsWith('ey') ? `${words.slice(0, -1)}ies` : `${words}s`
}

/** Returns the singular of a name in camel case: `apiKey` for `ApiKey` and `api-keys`. */
function toKey(name: string): string {
  return name
    .replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
    .replace(/^[A-Z]/, (letter) => letter.toLowerCase())
    .replace(/(?<!s)s$/, '')
}

/** Splits a name into words: `API key` for `ApiKey`. */
export function toWords(name: string): string {
  return toKey(name)
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .replace(/^api\b/, 'API')
}
