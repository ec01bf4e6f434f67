import { z } from 'zod'
import { toFields } from '../../engine/language/fields.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { defineStep } from '../../engine/model/step.ts'
import { isTimezone } from '../../platform/calendar/zoned-time.ts'
import { requireContact } from './contact-facts.ts'
import { type ContactFields, FIELDS_TOO_LARGE, mergeFields } from './contact-fields.ts'
import type { ContactChanges, WorkflowEffect } from '../effects.ts'

const FINAL = { retryable: false }

/** Checks values with their placeholders filled in, like any other change of a contact. */
const Changes = z.object({
  name: z.string().trim().min(1, 'must not be empty').max(200).optional(),
  email: z.email('must be an email address').max(254).nullable().optional(),
  language: z
    .string()
    .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be a language tag such as pt-BR')
    .nullable()
    .optional(),
  timezone: z
    .string()
    .refine(isTimezone, 'must be an IANA time zone such as America/Sao_Paulo')
    .max(64)
    .nullable()
    .optional(),
  fields: z.record(z.string(), z.unknown()).optional(),
})

const FieldsOfFacts = z.record(z.string(), z.unknown()).catch({})

const templated = z.string().max(65_536).nullable().optional()

/** Changes details of the contact. An empty text clears a detail, as null does; a custom field set to null is removed. */
export const updateContact = defineStep({
  type: 'update_contact',
  needsContact: true,
  schema: z.strictObject({
    values: z
      .strictObject({
        name: z.string().max(65_536).optional(),
        email: templated,
        language: templated,
        timezone: templated,
        fields: z.record(z.string(), z.unknown()).optional(),
      })
      .refine((values) => Object.keys(values).length > 0, 'must name at least one detail')
      .meta({ minProperties: 1 }),
  }),
  output: ({ values }) => toFields(Object.keys(values)),
  execute(config, context) {
    const contact = requireContact(context)
    const values = readChanges(context.resolve(config.values))
    const { fields, ...details } = values
    const effect: WorkflowEffect = { type: 'update_contact', values }
    return {
      kind: 'next',
      input: { values },
      output: values,
      effects: [effect],
      facts: { contact: { ...details, ...(fields ? { fields: mergeOrFail(contact['fields'], fields) } : {}) } },
    }
  },
})

function readChanges(resolved: unknown): ContactChanges {
  const entries = typeof resolved === 'object' && resolved !== null ? Object.entries(resolved) : []
  const cleared = entries.map(([key, value]) => [key, value === '' && key !== 'name' ? null : value])
  const parsed = Changes.safeParse(Object.fromEntries(cleared))
  if (parsed.success) return withoutUndefined(parsed.data)
  const [issue] = parsed.error.issues
  throw new StepError('invalid_value', `The value for ${String(issue?.path[0])} ${issue?.message}`, FINAL)
}

function withoutUndefined(changes: z.output<typeof Changes>): ContactChanges {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
}

function mergeOrFail(existing: unknown, changes: ContactFields): ContactFields {
  const merged = mergeFields(FieldsOfFacts.parse(existing), changes)
  if (merged) return merged
  throw new StepError('value_too_large', `The custom fields of the contact ${FIELDS_TOO_LARGE}`, FINAL)
}
