import { z } from 'zod'
import { id, text } from '../../trpc/schemas.ts'
import { BulkContacts } from '../contacts/bulk/schema.ts'
import { Job } from '../jobs/schema.ts'

const MAPPED_MAX = 200

const CELLS = ['name', 'phone', 'email', 'language', 'timezone', 'externalId', 'tags', 'marketingConsent', 'fields']

const target = z
  .string()
  .max(120)
  .regex(
    new RegExp(`^(?:${CELLS.join('|')}|fields\\..+)$`),
    `must be one of ${CELLS.join(', ')}, or fields. and the name of a custom field`,
  )
  .nullable()

const { mode, matchBy, startWorkflows } = BulkContacts.shape

/** Counts the entries before it checks them, so that a mapping of any size is refused at once. */
const mapping = z
  .preprocess(
    (value, { addIssue }) => {
      if (typeof value === 'object' && value !== null && Object.keys(value).length > MAPPED_MAX)
        addIssue({ code: 'custom', message: `must have at most ${String(MAPPED_MAX)} entries` })
      return value
    },
    z.record(text(200), target),
  )
  .optional()
  .meta({
    description:
      'What columns are, by their headers: `name`, `phone`, `email`, `language`, `timezone`, `externalId`, `tags`, `marketingConsent`, `fields` as JSON, `fields.city` for a custom field, or null to leave one out. The others are recognized by their headers',
    examples: [{ Cidade: 'fields.city' }],
  })

const options = {
  mode,
  matchBy,
  startWorkflows,
  dryRun: z.boolean().default(false).meta({
    description:
      'Whether the file is only checked: the counts and results are those of an import, and no contact changes',
  }),
  again: z.boolean().default(false).meta({
    description:
      'Whether the file is imported although it has a job already, such as after contacts were deleted. A call that is repeated then imports once more',
  }),
  mapping,
}

/** Options of an import whose file is the body. */
export const ImportOptions = z.strictObject(options)
export type ImportOptions = z.infer<typeof ImportOptions>

/** The same in a query, where the mapping is JSON. */
export const ImportQuery = ImportOptions.extend({
  mapping: z
    .string()
    .max(20_000)
    .transform((json, issues): unknown => {
      try {
        return JSON.parse(json)
      } catch {
        issues.addIssue({ code: 'custom', message: 'must be JSON' })
        return z.NEVER
      }
    })
    .pipe(mapping)
    .optional(),
})

export const ImportContacts = z.strictObject({
  mediaId: id.meta({ description: 'The uploaded file: CSV of at most 50 MB and 100,000 rows' }),
  ...options,
})
export type ImportContacts = z.infer<typeof ImportContacts>

export const ImportedJob = Job.extend({
  repeated: z.boolean().meta({
    description:
      'Whether this is the job of an earlier call with the same file and options, so that nothing is imported again',
  }),
}).meta({ id: 'ImportedJob' })
export type ImportedJob = z.infer<typeof ImportedJob>

/** Input of the job of an import. */
export const ImportInput = z.object({
  mode,
  matchBy,
  startWorkflows,
  dryRun: z.boolean(),
  encoding: z.string(),
  delimiter: z.string(),
  /** Meanings of the columns; null for one that is left out. */
  columns: z.array(z.object({ header: z.string(), target: target })),
})
export type ImportInput = z.infer<typeof ImportInput>
