import { z } from 'zod'
import { didYouMean } from '../platform/closest-matches.ts'
import { CreateBroadcast } from '../features/broadcasts/schema.ts'
import { CreateContact } from '../features/contacts/schema.ts'
import { Conversation } from '../features/conversations/schema.ts'
import { CreateWorkflow, StartWorkflow } from '../features/workflows/schema.ts'

const name = z.string()
/** Something that a call has returned, or its ID. */
const byId = z.looseObject({ id: z.string() })

/**
 * `ago` is the time before the end of the history, such as `3h`. By default, right after what the seed did before, which
 * begins with the creation of the workspace ninety days ago.
 */
const at = { id: z.string().optional(), ago: z.string().optional() }

const CONSENT_FORM = "has the form { marketing: 'opted_in' }"

export const SeedContact = CreateContact.partial().extend({
  ...at,
  consent: z
    .strictObject(CreateContact.shape.consent.unwrap().shape, {
      error: ({ code }) => (code === 'invalid_type' ? CONSENT_FORM : undefined),
    })
    .optional(),
  groups: z.array(name).optional(),
})
export type SeedContact = z.input<typeof SeedContact>

export const SeedConversation = z.strictObject({ ...at, contact: byId, status: Conversation.shape.status.optional() })
export type SeedConversation = z.input<typeof SeedConversation>

export const SeedMessage = z.strictObject({
  ago: at.ago,
  body: z.string(),
  from: z.enum(['customer', 'owner']).optional(),
  contact: byId.optional(),
  conversation: byId.optional(),
})
export type SeedMessage = z.input<typeof SeedMessage> & ({ contact: { id: string } } | { conversation: { id: string } })

export const SeedWorkflow = CreateWorkflow.omit({ definition: true })
  .partial()
  .extend({ ...at, publish: z.boolean().optional() })
export type SeedWorkflow = z.input<typeof SeedWorkflow>

export const SeedRun = StartWorkflow.pick({ input: true, variables: true }).extend({
  ago: at.ago,
  workflow: byId,
  contact: byId.optional(),
  trigger: StartWorkflow.shape.trigger.unwrap().optional(),
})
export type SeedRun = z.input<typeof SeedRun>

export const SeedBroadcast = CreateBroadcast.pick({ params: true }).extend({
  ...at,
  name: name.optional(),
  /** Text of its template. */
  body: z.string().optional(),
  category: z.enum(['marketing', 'utility']).optional(),
  /** Names of tags and groups, and contacts, who are the audience. */
  tags: z.array(name).optional(),
  groups: z.array(name).optional(),
  contacts: z.array(byId).optional(),
  /** False leaves a draft. */
  send: z.boolean().optional(),
})
export type SeedBroadcast = z.input<typeof SeedBroadcast>

/**
 * Returns the options of a call, as its schema reads them. Seeds are executed without a check of their types, and an
 * option that is not known would be ignored.
 * @throws Error that names the call and the option
 */
export function readOptions<Schema extends z.ZodObject>(
  call: string,
  schema: Schema,
  options: z.input<Schema>,
): z.output<Schema> {
  const { data, error } = schema.safeParse(options)
  if (data) return data
  throw new Error(`${call}(): ${error?.issues.map((issue) => describeIssue(issue, schema)).join('; ')}`)
}

function describeIssue(issue: z.core.$ZodIssue, schema: z.ZodObject): string {
  const { path, message } = issue
  if (issue.code !== 'unrecognized_keys') return path.length > 0 ? `"${path.join('.')}" ${message}` : message
  if (path.length > 0) return `"${path.join('.')}" has no ${issue.keys.map((key) => `"${key}"`).join(', ')}`
  const names = Object.keys(schema.shape)
  return issue.keys
    .map((key) => `there is no option "${key}". ${didYouMean(key, names) ?? `The options are ${names.join(', ')}`}`)
    .join('; ')
}
