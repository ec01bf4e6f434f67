import { z } from 'zod'
import { id, openEnum, page, text, timestamp, timestampInput } from '../../trpc/schemas.ts'
import { ConsentSource } from '../contacts/schema.ts'
import { KEYWORD_LANGUAGES } from './keyword-lists.ts'
import { KEYWORD_LENGTH_MAX, normalizeKeyword } from './keywords.ts'

const purpose = z.enum(['marketing', 'service']).meta({
  description:
    '`marketing`: templates of this category. `service`: all templates and all automated messages; a member may still reply by hand inside the service window',
})
const state = z.enum(['unknown', 'opted_in', 'opted_out'])

export const ConsentEntry = z
  .object({
    id,
    purpose,
    state,
    source: ConsentSource,
    actor: z
      .object({
        type: openEnum(['contact', 'user', 'key', 'workflow', 'system']),
        id: id.nullable(),
        name: z.string().nullable(),
      })
      .meta({
        description: 'The one who changed it: a user, a workflow, the contact itself by a keyword, or the provider',
      }),
    text: z.string().nullable().meta({ description: 'The text that the contact saw or wrote' }),
    keyword: z.string().nullable(),
    channelId: id.nullable(),
    messageId: id.nullable(),
    at: timestamp,
  })
  .meta({ id: 'ConsentEntry' })
export type ConsentEntry = z.infer<typeof ConsentEntry>

export const ContactConsent = z
  .object({
    contactId: id,
    at: timestamp.meta({ description: 'The time of the states: that of the request, or now' }),
    marketing: state,
    service: state,
    items: z.array(ConsentEntry).meta({ description: 'Entries of the ledger until then, newest first' }),
    total: z.int(),
  })
  .meta({ id: 'ContactConsent' })
export type ContactConsent = z.infer<typeof ContactConsent>

export const GetConsent = z.strictObject({
  contactId: id,
  at: timestampInput.optional().meta({ description: 'Returns the states and entries of this time; of now if absent' }),
  ...page,
})
export type GetConsent = z.infer<typeof GetConsent>

export const RecordConsent = z.strictObject({
  contactId: id,
  purpose,
  state: z.enum(['opted_in', 'opted_out']),
  text: text(2000)
    .optional()
    .meta({
      description: 'The text that the contact agreed to, as evidence',
      examples: ['I would like to receive offers by WhatsApp'],
    }),
  source: z.enum(['api', 'import', 'manual']).default('api').meta({ description: 'Origin of the consent' }),
})
export type RecordConsent = z.infer<typeof RecordConsent>

const KEYWORDS_MAX = 100
const keyword = text(KEYWORD_LENGTH_MAX).refine(
  (word) => normalizeKeyword(word) !== '',
  'must have a letter or a digit',
)
const keywords = z.array(keyword).max(KEYWORDS_MAX, `must have at most ${KEYWORDS_MAX} entries`).default([])

const KeywordChanges = z.strictObject({
  added: keywords.meta({ description: 'Words besides the built-in ones', examples: [['adios']] }),
  removed: keywords.meta({
    description: 'Words that are no keywords, such as a built-in one that customers answer with',
  }),
  confirmation: text(1000).nullable().default(null).meta({
    description: 'The text that confirms the change; null for the built-in one in the language of the contact',
  }),
})

const NO_CHANGES = { added: [], removed: [], confirmation: null }

export const PutConsentKeywords = z.strictObject({
  language: z.enum(KEYWORD_LANGUAGES).optional().meta({
    description:
      'The language of confirmations to contacts whose language is not known from them or their word; by default that of the workspace, or English',
  }),
  optOut: KeywordChanges.default(NO_CHANGES),
  optIn: KeywordChanges.default(NO_CHANGES),
})
export type PutConsentKeywords = z.infer<typeof PutConsentKeywords>

const EffectiveKeywords = z.object({
  words: z.array(z.string()).meta({ description: 'The words in effect, without case, accents and punctuation' }),
  added: z.array(z.string()),
  removed: z.array(z.string()),
  confirmation: z.string().nullable(),
})

export const ConsentKeywords = z
  .object({ language: z.enum(KEYWORD_LANGUAGES), optOut: EffectiveKeywords, optIn: EffectiveKeywords })
  .meta({ id: 'ConsentKeywords' })
export type ConsentKeywords = z.infer<typeof ConsentKeywords>
