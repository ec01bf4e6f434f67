import { z } from 'zod'
import { areFieldsBounded, FIELDS_TOO_LARGE } from '../../steps/contacts/contact-fields.ts'
import { tagName } from '../tags/schema.ts'
import { toE164 } from '../../platform/phone.ts'
import { json, id, openEnum, timestamp, page, toPage, text, timezone } from '../../trpc/schemas.ts'

const PHONE = 'must be in international format, such as +14155550100'

export const phone = z
  .string()
  .max(40, PHONE)
  .transform((input, issues) => {
    const normalized = toE164(input)
    if (normalized) return normalized
    issues.addIssue({ code: 'custom', message: PHONE })
    return z.NEVER
  })
  .meta({
    override: { type: 'string' },
    description: 'E.164. Spaces, brackets, dots and dashes are removed, and the zero of `+44 (0)20`',
    examples: ['+14155550100'],
  })

const fields = json.refine(areFieldsBounded, FIELDS_TOO_LARGE)
/** Tags that one request names. */
export const TAGS_MAX = 50
const tagNames = z.array(tagName).max(TAGS_MAX)
const email = z.email('must be an email address').max(254)
const language = z.string().regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be a language tag such as pt-BR')
const marketing = z.enum(['unknown', 'opted_in', 'opted_out'])

export const ConsentSource = openEnum(['api', 'keyword', 'import', 'workflow', 'provider', 'manual'])

export const Contact = z
  .object({
    id,
    name: z.string(),
    phone: z
      .string()
      .nullable()
      .meta({ description: 'E.164. Null for a contact that the channel identifies by another ID' }),
    email: z.string().nullable(),
    username: z.string().nullable(),
    language: z.string().nullable(),
    country: z.string().nullable().meta({ description: 'ISO 3166-1 alpha-2, derived from the phone number' }),
    timezone: z.string().nullable(),
    fields: z.record(z.string(), z.unknown()),
    tags: z.array(z.object({ id, name: z.string(), color: z.string() })),
    consent: z.object({ marketing, source: ConsentSource.nullable(), at: timestamp.nullable() }),
    blocked: z.boolean().meta({ description: 'A blocked contact is sent nothing and starts no runs' }),
    externalId: z.string().nullable(),
    source: z.enum(['api', 'import', 'inbound', 'manual', 'workflow']),
    lastInboundAt: timestamp.nullable(),
    lastOutboundAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Contact' })
export type Contact = z.infer<typeof Contact>

export const ContactPage = toPage(Contact)

export const ContactRef = z.strictObject({ contactId: id })
export type ContactRef = z.infer<typeof ContactRef>

export const CreateContact = z.strictObject({
  name: text(200),
  phone,
  email: email.nullish(),
  language: language.nullish(),
  timezone: timezone.nullish(),
  fields: fields.optional().meta({ description: 'Custom fields, at most 64 KB as JSON' }),
  tags: tagNames.optional().meta({ description: 'Names of tags. Tags that do not exist are created' }),
  consent: z.strictObject({ marketing }).optional().meta({ description: 'Writes an entry of the consent ledger' }),
  externalId: text(200).nullish(),
})
export type CreateContact = z.infer<typeof CreateContact>

export const UpdateContact = z.strictObject({
  contactId: id,
  name: text(200).optional(),
  phone: phone.optional(),
  email: email.nullish(),
  language: language.nullish(),
  timezone: timezone.nullish(),
  fields: fields.optional().meta({
    description: 'Merged into the existing fields, at most 64 KB with them. A null removes the key',
  }),
  tags: tagNames.optional().meta({ description: 'Replaces all tags' }),
  addTags: tagNames.optional().meta({ description: 'Names of tags. Tags that do not exist are created' }),
  removeTags: tagNames.optional(),
  consent: z.strictObject({ marketing }).optional().meta({ description: 'Writes an entry of the consent ledger' }),
  blocked: z.boolean().optional().meta({
    description:
      'True cancels the open runs of the contact. It is sent nothing and starts no runs until it is unblocked',
  }),
  externalId: text(200).nullish(),
})
export type UpdateContact = z.infer<typeof UpdateContact>

export const ListContacts = z.strictObject({
  ...page,
  q: text(100).optional().meta({
    description:
      'Part of the name or of the phone number, or the beginning of the e-mail address or external ID. Case and accents do not matter, except in an external ID, nor do spaces and punctuation in a number; after a plus it is the beginning of the number. One or two characters find the beginning of a word of the name',
  }),
  phone: phone.optional().meta({ description: 'Only the contact with this phone number' }),
  tag: tagName.optional().meta({ description: 'Only contacts with the tag of this name', examples: ['vip'] }),
  groupId: id.optional().meta({ description: 'Only contacts of this group' }),
  sort: z.enum(['-createdAt', 'createdAt', 'name', '-name']).default('-createdAt').meta({
    description: 'The order of the items; `-` means descending',
  }),
})
export type ListContacts = z.infer<typeof ListContacts>
