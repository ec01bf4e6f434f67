import { z } from 'zod'
import { isCountry } from '../../platform/phone.ts'
import { id, line, timestamp, timezone } from '../../trpc/schemas.ts'

const language = z
  .string()
  .regex(/^[a-z]{2,3}(_[A-Z]{2})?$/, 'must be a language code of templates, such as en or pt_BR with an underscore')
  .meta({ examples: ['pt_BR'] })

const COUNTRY = 'must be an ISO 3166-1 alpha-2 code such as BR'
const country = z
  .string()
  .regex(/^[A-Z]{2}$/, { error: COUNTRY, abort: true })
  .refine(isCountry, COUNTRY)
  .meta({ examples: ['BR'] })

const name = line(120)

export const Workspace = z
  .object({
    id,
    name: z.string(),
    timezone: z.string(),
    language: z.string().nullable(),
    country: z.string().nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Workspace' })
export type Workspace = z.infer<typeof Workspace>

/** Null is left out of a new workspace, which has no value to remove. */
const settings = {
  timezone: timezone
    .optional()
    .meta({ description: 'The zone of schedules, workflows and contacts without their own' }),
  language: language.nullish().meta({ description: 'In the form of the languages of templates' }),
  country: country.nullish().meta({ description: 'ISO 3166-1 alpha-2 code' }),
}

export const CreateWorkspace = z.strictObject({ name, ...settings })
export type CreateWorkspace = z.infer<typeof CreateWorkspace>

export const UpdateWorkspace = z.strictObject({ name: name.optional(), ...settings })
export type UpdateWorkspace = z.infer<typeof UpdateWorkspace>

export const USAGE_DAYS_DEFAULT = 30
export const USAGE_DAYS_MAX = 92

const YEAR_MIN = 2000
const date = z.iso
  .date('must be a day such as 2026-11-20')
  .refine((day) => Number(day.slice(0, 4)) >= YEAR_MIN && day < '9999-12-31', `must be between ${YEAR_MIN} and 9999`)

export const GetUsage = z.strictObject({
  from: date.optional().meta({
    description: `The first day, at most ${USAGE_DAYS_MAX} days with the last one; ${USAGE_DAYS_DEFAULT} days by default`,
    examples: ['2026-03-01'],
  }),
  to: date.optional().meta({ description: 'The last day; today by default', examples: ['2026-03-02'] }),
})
export type GetUsage = z.output<typeof GetUsage>

const fileBytes = (text: string) => z.int().meta({ description: `${text}, each counted as at least 4 KB` })

export const WorkspaceUsage = z
  .object({
    timezone: z.string().meta({ description: 'The zone of the workspace, in which the days begin' }),
    from: z.string().meta({ description: 'The first day' }),
    to: z.string().meta({ description: 'The last day' }),
    days: z
      .array(
        z.object({
          date: z.string().meta({ description: 'The day', examples: ['2026-03-02'] }),
          inboundMessages: z.int().meta({ description: 'Messages of customers that were received' }),
          outboundMessages: z.int().meta({
            description: 'Messages to customers that were created, also by broadcasts, whatever their status',
          }),
          runs: z.int().meta({ description: 'Runs that were created, also dry runs' }),
          files: z.int().meta({ description: 'Files that were stored' }),
          fileBytes: fileBytes('Bytes of these files'),
        }),
      )
      .meta({ description: 'All days of the period, the first one first. What was deleted since is not counted' }),
    stored: z
      .object({
        contacts: z.int().meta({ description: 'Contacts of the workspace' }),
        conversations: z.int().meta({ description: 'Conversations of the workspace, also closed ones' }),
        files: z.int().meta({ description: 'Files of messages that are kept' }),
        fileBytes: fileBytes('Bytes of all files'),
      })
      .meta({ description: 'Numbers of what is stored now' }),
  })
  .meta({ id: 'WorkspaceUsage' })
export type WorkspaceUsage = z.infer<typeof WorkspaceUsage>

/** The confirmation is strict: a client that sends the name of another workspace deletes nothing. */
export const DeleteWorkspace = z.strictObject({
  name: z
    .string()
    .max(1000)
    .meta({ description: 'The exact name of the workspace, as a confirmation', examples: ['Casa Verde'] }),
})
export type DeleteWorkspace = z.infer<typeof DeleteWorkspace>

export const DeletedWorkspaceRef = z.strictObject({ workspaceId: id })
export type DeletedWorkspaceRef = z.infer<typeof DeletedWorkspaceRef>

export const WorkspaceDeletion = z
  .object({
    workspaceId: id,
    name: z.string(),
    status: z.enum(['deleting', 'deleted']),
    deletedBy: id.meta({ description: 'The user who deleted it' }),
    rows: z
      .record(z.string(), z.int().nonnegative())
      .meta({ description: 'Numbers of deleted rows by table; final once `finishedAt` is set' }),
    files: z.int().nonnegative().meta({ description: 'Number of deleted files' }),
    deletedAt: timestamp.meta({ description: 'From this time on nothing was done for the workspace' }),
    startedAt: timestamp.nullable().meta({ description: 'Time of the first row that was deleted' }),
    finishedAt: timestamp.nullable().meta({ description: 'From this time on no row and no file is left' }),
  })
  .meta({ id: 'WorkspaceDeletion' })
export type WorkspaceDeletion = z.infer<typeof WorkspaceDeletion>
